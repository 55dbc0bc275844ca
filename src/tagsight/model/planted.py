"""Synthetic regions drawn from the model, with the true assignments and appearances that a fit should recover."""

from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Floats, Ints


class Planted(NamedTuple):
    """Photos drawn from the model."""

    X: Floats  # (N, D)
    tags: Array  # (I, n_objects + n_attributes) 0/1
    groups: Ints  # (N,)
    edges: Ints  # (E, 2)
    assign: Array  # (N, K) bool, the truth
    appearance: Floats  # (K, D), the truth


def draw_planted(
    appearance: Floats,
    n_free: int,
    *,
    n_photos: int,
    n_regions: int,
    noise: float = 1.0,
    sparsity: float = 4.0,
    tags_per_photo: float = 4.0,
    n_objects: int | None = None,
    seed: int,
) -> Planted:
    """Draw photos of `n_regions` regions in a chain of neighbours from factors `appearance` (K, D).

    The last `n_free` factors need no tag. Of the others each photo allows about `tags_per_photo`. Sticks follow a
    random order of the photo's factors, v ~ Beta(sparsity, 1); a photo has a tag if its factor is on in a region.
    With `n_objects`, at most one of the first `n_objects` factors and the free ones is on in a region.
    """
    rng = np.random.default_rng(seed)
    K, D = appearance.shape
    tagged = K - n_free
    wanted = rng.random((n_photos, tagged)) < tags_per_photo / max(tagged, 1)
    allowed = np.hstack([wanted, np.ones((n_photos, n_free), bool)])
    weight = np.zeros((n_photos, K))
    for i in range(n_photos):
        columns = rng.permutation(np.flatnonzero(allowed[i]))
        weight[i, columns] = np.cumprod(rng.beta(sparsity, 1.0, len(columns)))
    groups = np.repeat(np.arange(n_photos), n_regions)
    assign = rng.random((len(groups), K)) < weight[groups]
    if n_objects is not None:
        exclusive = np.r_[:n_objects, tagged:K]
        assign[:, exclusive] = _draw_one(weight[groups][:, exclusive], rng)
    X = assign @ appearance + noise * rng.standard_normal((len(groups), D))
    tags = np.zeros((n_photos, tagged), np.uint8)
    np.maximum.at(tags, groups, assign[:, :tagged].astype(np.uint8))
    first = np.flatnonzero(groups[1:] == groups[:-1])
    return Planted(X, tags, groups, np.stack([first, first + 1], axis=1), assign, appearance)


def _draw_one(weight: Floats, rng: np.random.Generator) -> Array:
    """Return rows (N, K) with at most one True: independent Bernoulli draws, given that at most one is True."""
    odds = weight / (1.0 - weight)
    upper = np.cumsum(odds / (1.0 + odds.sum(axis=1, keepdims=True)), axis=1)
    place = rng.random((len(weight), 1))
    return (place < upper) & (place >= np.hstack([np.zeros((len(weight), 1)), upper[:, :-1]]))


def draw_appearance(K: int, D: int, *, scale: float = 1.0, seed: int) -> Floats:
    """Return A_k ~ N(0, scale^2 I), (K, D)."""
    return scale * np.random.default_rng(seed).standard_normal((K, D))
