"""The greedy selection equals a slow one that computes the objective itself."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagsight.review import selection
from tagsight.review.selection import choose_representatives
from tagsight.types import Array


def draw_vectors(seed: int, n: int) -> Array:
    vectors = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def evaluate(vectors: Array, weights: Array, chosen: list[int]) -> float:
    """The objective of its definition."""
    exact = vectors.astype(np.float64)
    return sum(
        weight * max([0.0, *(float(exact[i] @ vector) for i in chosen)])
        for weight, vector in zip(weights, exact, strict=True)
    )


@given(seed=st.integers(0, 1000), n=st.integers(1, 12))
def test_each_photo_adds_the_most_to_the_objective(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, weights = draw_vectors(seed, n), rng.random(n)
    done, candidates = rng.random(n) < 0.2, rng.random(n) < 0.8
    chosen = choose_representatives(vectors, weights, done=done, candidates=candidates, top=4)
    assert len(chosen) == min(4, int(candidates.sum()))
    selected = np.flatnonzero(done).tolist()
    for photo, gain in chosen:
        before = evaluate(vectors, weights, selected)
        gains = {
            i: evaluate(vectors, weights, [*selected, i]) - before
            for i in np.flatnonzero(candidates).tolist()
            if i not in selected or done[i]
        }
        assert gains[photo] == pytest.approx(max(gains.values()), abs=1e-9)
        assert gain * weights.sum() == pytest.approx(gains[photo], abs=1e-9)
        selected.append(photo)
    assert len({one.photo for one in chosen}) == len(chosen)


def test_photos_of_every_cluster_come_first() -> None:
    """Ten photos around each of four directions: the first four choices are one of each."""
    rng = np.random.default_rng(0)
    vectors = np.repeat(np.eye(4), 10, axis=0) + 0.05 * rng.normal(size=(40, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    everything = np.ones(40, bool)
    chosen = choose_representatives(vectors, np.ones(40), done=~everything, candidates=everything, top=4)
    assert {one.photo // 10 for one in chosen} == {0, 1, 2, 3}
    done = np.zeros(40, bool)
    done[0] = True
    rest = choose_representatives(vectors, np.ones(40), done=done, candidates=~done, top=3)
    assert {one.photo // 10 for one in rest} == {1, 2, 3}
    heavy = np.where(np.arange(40) >= 30, 10.0, 1.0)
    (first,) = choose_representatives(vectors, heavy, done=~everything, candidates=everything, top=1)
    assert first.photo >= 30


def test_the_choice_depends_on_no_block_and_ties_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.repeat(draw_vectors(0, 6), 3, axis=0)
    everything = np.ones(18, bool)

    def choose() -> list[int]:
        found = choose_representatives(vectors, np.ones(18), done=~everything, candidates=everything, top=18)
        return [one.photo for one in found]

    first = choose()
    assert sorted(first) == list(range(18))
    assert all(photo % 3 == 0 for photo in first[:6])
    monkeypatch.setattr(selection, "BLOCK", 5)
    assert choose() == first


def test_a_large_collection_is_represented_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "SAMPLE", 20)
    vectors = draw_vectors(0, 100)
    everything = np.ones(100, bool)
    chosen = choose_representatives(vectors, np.ones(100), done=~everything, candidates=everything, top=30)
    assert len({one.photo for one in chosen}) == 30
    assert any(one.photo not in selection._choose_sample(100) for one in chosen)


def test_photos_without_an_index_have_vectors_of_their_features(tmp_path: Path) -> None:
    from PIL import Image

    from tagsight.runtime.progress import no_progress

    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{n}.png" for n in range(5)]
    for n, path in enumerate(paths[:4]):
        colour = np.array([[255, 0, 0], [0, 0, 255]])[n // 2]
        Image.fromarray((colour * rng.random((64, 64, 1))).astype(np.uint8)).save(path)
    paths[4].write_text("no photo")
    vectors = selection.extract_photo_vectors(paths, no_progress)
    assert vectors.shape == (5, selection.DIMENSIONS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 1, 0], atol=1e-5)
    similarity = vectors[:4] @ vectors[:4].T
    assert similarity[0, 1] > max(similarity[0, 2], similarity[0, 3])
    assert similarity[2, 3] > max(similarity[2, 0], similarity[2, 1])
