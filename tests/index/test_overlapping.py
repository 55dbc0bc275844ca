"""Concurrent requests are answered like single ones, within the memory limit of an index."""

import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tagsight.index import Index, open_index
from tagsight.index import snapshot as snapshot_module
from tagsight.index.errors import BusyError
from tagsight.index.limits import answer_within
from tagsight.index.part_file import PartFile
from tagsight.index.query import parse_query
from tagsight.index.search import search
from tagsight.index.snapshot import Snapshot

from .made import draw_posteriors, put_posteriors, put_wide_index

CLIENTS = 16
EACH = 4
REQUESTS: dict[str, Callable[[Index, int], object]] = {
    "outline": lambda index, n: index.find_areas(n, f"attribute{n % 80} object{n % 20}"),
    "photo": lambda index, n: index.load_photo(n),
    "like": lambda index, n: index.find_similar(n, top=8),
    "like region": lambda index, n: index.find_similar(n, n % 40, top=8),
    "search": lambda index, n: index.find(f"attribute{n % 80} object{n % 20}, object{(n + 1) % 20}", top=25),
}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    put_wide_index(folder)
    return folder


@pytest.mark.parametrize("kind", [*REQUESTS, "all"])
def test_concurrent_requests_are_answered_like_single_ones(wide: Path, kind: str) -> None:
    index = open_index(wide)
    kinds = list(REQUESTS) if kind == "all" else [kind]
    start = threading.Barrier(CLIENTS)

    def ask(client: int) -> list[tuple[str, int, str]]:
        start.wait()
        answers: list[tuple[str, int, str]] = []
        for turn in range(EACH):
            asked, photo = kinds[(client + turn) % len(kinds)], 150 * client + turn
            answers.append((asked, photo, repr(REQUESTS[asked](index, photo))))
        return answers

    with ThreadPoolExecutor(CLIENTS) as pool:
        answered = [one for answers in pool.map(ask, range(CLIENTS)) for one in answers]
    assert len(answered) == CLIENTS * EACH
    alone = open_index(wide)
    for asked, photo, answer in answered[:: 2 * EACH + 1]:
        assert answer == repr(REQUESTS[asked](alone, photo))


def test_a_request_takes_little_memory(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index has 20 MB of levels; tracemalloc measures the allocations of NumPy and Python."""
    monkeypatch.setattr(snapshot_module, "LEVELS_KEPT", 0)
    index = open_index(wide)
    for name, ask in REQUESTS.items():
        tracemalloc.start()
        ask(index, 7)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 6 * 2**20, name


def test_a_repeated_search_reads_nothing_from_disk(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_index(wide)

    def predict() -> list[object]:
        hits = index.find("attribute3 object7", top=25)
        return [hits, *(repr(index.find_areas(hit.photo, "attribute3 object7")) for hit in hits)]

    first = predict()

    def refuse(self: PartFile) -> None:
        pytest.fail("the second search reads from disk")

    monkeypatch.setattr(PartFile, "open", refuse)
    assert predict() == first


def test_levels_of_single_photos_are_read_from_any_part(tmp_path: Path) -> None:
    posteriors = draw_posteriors(3, 23)
    manifest = put_posteriors(tmp_path, posteriors, per_part=5)
    first = manifest.parts[0]._replace(removed=(1, 2))
    words = open_index(tmp_path).snapshot.words
    snapshot = Snapshot(tmp_path, manifest._replace(parts=(first, *manifest.parts[1:])), words)
    for number in (0, 3, 4, 5, 13, 22):
        levels = snapshot.read_photo_levels([2, 0, 7], number)
        np.testing.assert_allclose(levels / 65535, posteriors[number][:, [2, 0, 7]], atol=1e-5)


def test_a_request_ends_at_its_deadline(wide: Path) -> None:
    index = open_index(wide)
    for ask in REQUESTS.values():
        with answer_within(0.0), pytest.raises(BusyError, match="took too long"):
            ask(index, 3)
        ask(index, 3)


def test_a_request_waits_for_a_slot_until_its_deadline(wide: Path) -> None:
    snapshot = open_index(wide).snapshot
    query = parse_query("object1", snapshot.words)
    for _ in range(snapshot_module.READERS):
        assert snapshot._readers.acquire(blocking=False)
    with answer_within(0.05), pytest.raises(BusyError, match="too many requests"):
        search(snapshot, query, top=1)
    for _ in range(snapshot_module.READERS):
        snapshot._readers.release()
    assert search(snapshot, query, top=1)
