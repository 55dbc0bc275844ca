"""A worker restarted at any moment returns the same results as one that was not interrupted."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagsight.engine.local.threads import ThreadBatch
from tagsight.engine.ray.parts import Commit, load_commit, prepare_worker, save_commit
from tagsight.engine.ray.worker import (
    COMMIT_EVERY,
    Journal,
    Operation,
    ShardWorker,
)
from tagsight.errors import InputError, TagsightError
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, start_local
from tagsight.model.state import Globals, SummaryStatistics
from tests.engine.training import FACTORS, draw_photos, make_shards

SETTINGS = Settings(FACTORS)
PHOTOS = draw_photos(12)
SHARD = make_shards(PHOTOS, SETTINGS, 1)[0]
LOCAL = start_local(SHARD, STARTS["random"]([SHARD], FACTORS, 0), np.ones(3), plan_sticks(SETTINGS))
NUMBER = 2 * COMMIT_EVERY + 3


def state(number: int) -> Globals:
    blank = blank_globals(SETTINGS, PHOTOS.X.shape[1])
    blank.appearance.mean[:] = np.random.default_rng(number).standard_normal(blank.appearance.mean.shape)
    return blank


# Remembered before a commit, restored after it.
OPERATIONS = [Operation("step", state(number)) for number in range(NUMBER)]
OPERATIONS[COMMIT_EVERY - 3] = Operation("clear_free")
OPERATIONS[COMMIT_EVERY + 2] = Operation("restore")


def open_worker(folder: Path) -> ShardWorker:
    return ShardWorker(folder, SETTINGS, lambda operation: operation)


def journal(number: int) -> Journal:
    """The journal that the driver sends with operation `number`."""
    base = (number - 1) // COMMIT_EVERY * COMMIT_EVERY
    return Journal(base, OPERATIONS[base:number])


def perform_all() -> tuple[list[SummaryStatistics | None], ThreadBatch]:
    batch = ThreadBatch(SHARD, LOCAL, SETTINGS, map)
    answers: list[SummaryStatistics | None] = []
    for operation in OPERATIONS:
        if operation.state:
            answers.append(batch.step(operation.state))
        else:
            answers.append(getattr(batch, operation.name)())
    return answers, batch


def assert_same(ours: Iterable[Any] | None, theirs: Iterable[Any] | None) -> None:
    assert (ours is None) == (theirs is None)
    for a, b in zip(ours or (), theirs or (), strict=True):
        assert np.array_equal(a, b)
        assert isinstance(a, np.ndarray) == isinstance(b, np.ndarray)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare_worker(tmp_path, SHARD, LOCAL)
    return tmp_path


@pytest.mark.parametrize("lost", [set(), {1}, {COMMIT_EVERY}, {COMMIT_EVERY - 1, NUMBER}, set(range(1, NUMBER + 1))])
def test_results_are_those_of_an_uninterrupted_worker(folder: Path, lost: set[int]):
    """If a result is lost with its worker, the next worker receives the same call."""
    expected, batch = perform_all()
    worker = open_worker(folder)
    for number, answer in enumerate(expected, 1):
        if number in lost:
            worker.perform(journal(number))
            worker = open_worker(folder)
        assert_same(worker.perform(journal(number)), answer)
    assert_same(worker.local(journal(NUMBER)), batch.local)


def test_operations_are_not_repeated(folder: Path):
    worker = open_worker(folder)
    first = worker.perform(journal(3))
    before = worker.local(journal(3))
    assert_same(worker.perform(journal(3)), first)
    assert_same(worker.local(journal(3)), before)


def test_queries_use_the_posterior_after_the_journal(folder: Path):
    """Also after a restart of the worker, because queries carry the journal too."""
    _, batch = perform_all()
    ours, theirs = open_worker(folder), ThreadBatch(SHARD, batch.local, SETTINGS, map)
    whole = Journal(0, OPERATIONS)
    assert_same(ours.summarise(whole, state(99)), theirs.summarise(state(99)))
    ours = open_worker(folder)
    assert_same(ours.sample_residuals(whole, state(99), 5, 3), theirs.sample_residuals(state(99), 5, 3))


def test_commits_are_written_at_intervals(folder: Path):
    worker = open_worker(folder)
    found: list[int] = []
    for number in range(1, NUMBER + 1):
        worker.perform(journal(number))
        found.append(load_commit(folder / "commit.safetensors").number)
    assert found == [number // COMMIT_EVERY * COMMIT_EVERY for number in range(1, NUMBER + 1)]


def test_a_gap_in_the_journal_is_an_error(folder: Path):
    worker = open_worker(folder)
    worker.perform(journal(3))
    for wrong in (journal(COMMIT_EVERY + 1), journal(2)):
        with pytest.raises(TagsightError, match="has performed 3 operations"):
            worker.perform(wrong)


def test_a_commit_keeps_every_bit(tmp_path: Path):
    answers, batch = perform_all()
    path = tmp_path / "commit"
    for previous in (batch.local, LOCAL):
        for answer in (answers[0], None):
            save_commit(Commit(7, batch.local, previous, answer), path)
            number, *records = load_commit(path)
            assert number == 7
            for ours, theirs in zip(
                records, (batch.local, None if previous is batch.local else previous, answer), strict=True
            ):
                assert_same(ours, theirs)


def test_a_damaged_commit_is_an_error(tmp_path: Path):
    path = tmp_path / "commit"
    with pytest.raises(InputError, match=r"commit.*(is missing|is not a checkpoint file|is damaged).*train again"):
        load_commit(path)
    path.write_bytes(b"no")
    with pytest.raises(InputError, match=r"commit.*(is missing|is not a checkpoint file|is damaged).*train again"):
        load_commit(path)
