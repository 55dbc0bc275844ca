"""Search results equal those of scoring every region."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagsight.index import search as module
from tagsight.index import snapshot as snapshot_module
from tagsight.index.limits import LRUCache
from tagsight.index.query import Query
from tagsight.index.search import bound_photos, count_hits, score_photos, search

from .made import K, draw_posteriors, open_snapshot, put_posteriors, search_slowly

FACTOR = st.integers(0, K - 1)
THING = st.lists(FACTOR, min_size=1, max_size=4, unique=True).map(tuple)
QUERY = st.builds(
    Query,
    st.lists(THING, min_size=1, max_size=3).map(tuple),
    st.lists(FACTOR, max_size=2, unique=True).map(tuple),
)


@pytest.fixture(scope="module", params=[0, 3], ids=["fine", "tied"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("index")
    posteriors = draw_posteriors(5, 40, steps=request.param)
    return open_snapshot(folder, put_posteriors(folder, posteriors)), dict(enumerate(posteriors))


def keep(patch: pytest.MonkeyPatch, in_memory: bool) -> None:
    """Let levels stay in memory, or be read from disk each time."""
    patch.setattr(snapshot_module, "LEVELS_KEPT", 10**6 if in_memory else 0)


@settings(deadline=None, max_examples=100)
@given(
    query=QUERY,
    top=st.sampled_from([1, 2, 3, 5, 45, None]),
    threshold=st.sampled_from([0.0, 0.01, 0.2, 1.0]),
    first=st.integers(1, 4),
    in_memory=st.booleans(),
)
def test_the_ranking_equals_that_of_brute_force(
    made, query: Query, top: int | None, threshold: float, first: int, in_memory: bool
) -> None:
    snapshot, posteriors = made
    with pytest.MonkeyPatch.context() as patch:
        keep(patch, in_memory)
        patch.setattr(module, "FIRST", first)
        patch.setattr(module, "GROWTH", 2)
        patch.setattr(module, "BLOCK", 3)
        patch.setattr(module, "MOST", 17)
        hits = search(snapshot, query, top=top, threshold=threshold)
    slow = search_slowly(posteriors, query, top=top, threshold=threshold)
    assert [hit.photo for hit in hits] == [one.photo for one in slow]
    assert [hit.score for hit in hits] == pytest.approx([one.score for one in slow], abs=1e-12)
    assert [tuple(match.region for match in hit.matches) for hit in hits] == [one.regions for one in slow]


@settings(deadline=None, max_examples=60)
@given(query=QUERY, threshold=st.sampled_from([0.0, 0.01, 0.2, 1.0]), in_memory=st.booleans())
def test_the_count_is_the_length_of_the_full_list(made, query: Query, threshold: float, in_memory: bool) -> None:
    snapshot, posteriors = made
    with pytest.MonkeyPatch.context() as patch:
        keep(patch, in_memory)
        patch.setattr(module, "MOST", 7)
        slow = search_slowly(posteriors, query, threshold=threshold)
        assert [count_hits(snapshot, query, threshold) for _ in range(2)] == 2 * [len(slow)]


@settings(deadline=None, max_examples=30)
@given(query=QUERY)
def test_no_score_exceeds_its_bound(made, query: Query) -> None:
    snapshot, _ = made
    places, bounds = bound_photos(snapshot, query)
    if not len(places):
        return
    scored = score_photos(snapshot, query, places)
    order = np.argsort(scored.photos)
    assert (scored.scores[order] <= bounds[np.argsort(snapshot.photos[places])]).all()


def test_equal_scores_rank_by_number_even_if_their_bounds_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart, together = np.zeros((2, K)), np.zeros((2, K))
    apart[0, 0] = apart[1, 4] = 1.0  # bound 1, score 0.25
    apart[:, [0, 4]] = np.maximum(apart[:, [0, 4]], 0.25)
    together[0, 0], together[0, 4] = 1.0, 0.25  # bound and score 0.25
    monkeypatch.setattr(module, "FIRST", 1)
    snapshot = open_snapshot(tmp_path, put_posteriors(tmp_path, [together, apart]))
    assert [hit.photo for hit in search(snapshot, Query(((0, 4),), ()), top=1)] == [0]


def test_stored_scores_are_those_of_the_posteriors_to_a_thousandth(tmp_path: Path) -> None:
    posteriors = draw_posteriors(1, 30)
    snapshot = open_snapshot(tmp_path, put_posteriors(tmp_path, posteriors))
    query = Query(((0, 4, 5, 6),), ())
    hits = search(snapshot, query, top=None)
    assert len(hits) == 30
    for hit in hits:
        exact = posteriors[hit.photo][:, [0, 4, 5, 6]].prod(axis=1).max()
        assert abs(hit.score - exact) < 4e-5


def test_a_search_reads_few_photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    posteriors = [np.full((3, K), 0.1) for _ in range(60)]
    for number in (7, 31, 44):
        posteriors[number][1, [0, 4]] = 0.9
    snapshot = open_snapshot(tmp_path, put_posteriors(tmp_path, posteriors, per_part=20))
    monkeypatch.setattr(module, "FIRST", 4)
    read: list[int] = []
    whole = snapshot.read_levels
    monkeypatch.setattr(
        snapshot, "read_levels", lambda factors, places: read.append(len(places)) or whole(factors, places)
    )
    hits = search(snapshot, Query(((0, 4),), ()), top=3)
    assert [hit.photo for hit in hits] == [7, 31, 44]
    assert read == [4]


@pytest.mark.parametrize("in_memory", [True, False])
def test_removed_photos_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool) -> None:
    keep(monkeypatch, in_memory)
    posteriors = draw_posteriors(2, 20)
    manifest = put_posteriors(tmp_path, posteriors, per_part=10)
    first, second = manifest.parts
    manifest = manifest._replace(parts=(first._replace(removed=(0, 3)), second._replace(removed=(19,))))
    query = Query(((1, 5),), ())
    snapshot = open_snapshot(tmp_path, manifest)
    left = {number: posterior for number, posterior in enumerate(posteriors) if number not in (0, 3, 19)}
    for _ in range(3):  # from disk, into memory, from memory
        snapshot._results = LRUCache(0)
        hits = search(snapshot, query, top=None)
        assert [(hit.photo, hit.score) for hit in hits] == [one[:2] for one in search_slowly(left, query)]
    assert bool(len(snapshot._levels)) == in_memory


def test_a_match_has_the_box_of_its_region(tmp_path: Path) -> None:
    posterior = np.full((4, K), 0.1)
    posterior[2] = 0.8
    snapshot = open_snapshot(tmp_path, put_posteriors(tmp_path, [posterior]))
    (hit,) = search(snapshot, Query(((0, 4), (1,)), ()), top=5)
    assert hit.size == (100, 50)
    assert [(match.factors, match.region, match.box) for match in hit.matches] == [
        (("horse", "furry"), 2, (50, 0, 75, 50)),
        (("car",), 2, (50, 0, 75, 50)),
    ]
    assert hit.score == pytest.approx(0.8**3, abs=1e-4)


def test_an_excluded_word_must_have_a_probability_below_a_half_in_every_region() -> None:
    with tempfile.TemporaryDirectory() as folder:
        posteriors = [np.full((2, K), 0.4) for _ in range(3)]
        posteriors[1][1, 5] = 0.5
        posteriors[2][0, 5] = 0.49
        snapshot = open_snapshot(Path(folder), put_posteriors(Path(folder), posteriors))
        assert [hit.photo for hit in search(snapshot, Query(((0,),), (5,)), top=9)] == [0, 2]
