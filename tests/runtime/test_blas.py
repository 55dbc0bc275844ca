"""BLAS has one thread inside the blocks, whatever other threads of the process do."""

import threading

import numpy as np
from numpy.testing import assert_array_equal
from threadpoolctl import ThreadpoolController, threadpool_limits

from tagsight.model.start import find_centres
from tagsight.runtime.blas import one_blas_thread


def count_threads() -> set[int]:
    """The numbers of threads of all BLAS libraries that tagsight uses."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries if "scipy" in library["filepath"]}


def test_blas_has_one_thread_inside_and_as_many_as_before_outside() -> None:
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert count_threads() == {1}
            with one_blas_thread():
                assert count_threads() == {1}
            assert count_threads() == {1}
        assert count_threads() == {2}


def test_a_block_that_ends_leaves_the_limit_to_one_that_still_runs() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait()

    with threadpool_limits(2, user_api="blas"):
        other = threading.Thread(target=hold)
        with one_blas_thread():
            other.start()
            entered.wait()
        assert count_threads() == {1}
        leave.set()
        other.join()
        assert count_threads() == {2}


def test_any_thread_can_hold_blas_while_the_main_thread_has_set_a_number() -> None:
    counts: list[set[int]] = []

    def compute() -> None:
        with one_blas_thread():
            counts.append(count_threads())
        counts.append(count_threads())

    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        library.set_num_threads(2)  # without a block: the main thread stays in control
    other = threading.Thread(target=compute)
    other.start()
    other.join()
    assert counts == [{1}, {2}]


def test_an_exception_lifts_the_limit() -> None:
    with threadpool_limits(2, user_api="blas"):
        try:
            with one_blas_thread():
                raise ValueError
        except ValueError:
            pass
        assert count_threads() == {2}


def test_kmeans_does_not_depend_on_threads() -> None:
    rows = np.random.default_rng(0).normal(size=(20_000, 16))
    centres = []
    for n_threads in (1, 4, 4, 4):
        with threadpool_limits(n_threads):
            centres.append(find_centres(rows, 8, random_state=0))
    for other in centres[1:]:
        assert_array_equal(other, centres[0])
