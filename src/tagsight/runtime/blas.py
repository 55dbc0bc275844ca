"""One BLAS thread, so that sums are taken in the same order on every machine.

With several threads BLAS splits a sum, and the rounding error depends on their number. Results that must be equal to
the last bit (features, models, indexes; across processes, engines and runs) are computed inside `one_blas_thread`.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache

# SciPy's BLAS, which compiled kernels call, must be loaded before the libraries are listed.
import scipy.linalg  # noqa: F401  # pyright: ignore[reportUnusedImport]
from threadpoolctl import LibController, ThreadpoolController

_lock = threading.Lock()  # guards the two variables below
_n_blocks = 0
_before: Sequence[int] = ()  # threads of each library outside all blocks


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Limit BLAS to one thread within the block or, as a decorator, within the function.

    The number of BLAS threads belongs to the process, and blocks of several Python threads may overlap: the first block
    sets the limit and the last one lifts it.
    """
    global _n_blocks, _before
    with _lock:
        if _n_blocks == 0:
            _before = [library.get_num_threads() for library in _libraries()]
            _set_threads([1] * len(_before))
        _n_blocks += 1
    try:
        yield
    finally:
        with _lock:
            _n_blocks -= 1
            if _n_blocks == 0:
                _set_threads(_before)


def _set_threads(numbers: Sequence[int]) -> None:
    """Set the number of threads of each library.

    threadpoolctl obeys only the first Python thread that sets a number until that thread releases it.
    """
    for library, number in zip(_libraries(), numbers, strict=True):
        give_up_control = getattr(library, "clear_controlling_thread", None)  # of OpenBLAS only
        library.set_num_threads(number)
        if library.get_num_threads() != number and give_up_control:
            give_up_control(force=True)
            library.set_num_threads(number)
        if give_up_control:
            give_up_control()


@cache
def _libraries() -> list[LibController]:
    return ThreadpoolController().select(user_api="blas").lib_controllers
