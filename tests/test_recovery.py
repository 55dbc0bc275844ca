"""Recovery of planted factors: data drawn from the model, fitted from tags only, compared with the truth."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tagsight import StackedIBP
from tagsight.model.planted import Planted, draw_appearance, draw_planted
from tagsight.types import Array, Floats

N_OBJECTS, N_ATTRIBUTES, N_FREE, D = 5, 8, 4, 64
TAGGED = N_OBJECTS + N_ATTRIBUTES


def draw(n_photos: int, seed: int, part: int) -> Planted:
    appearance = draw_appearance(TAGGED + N_FREE, D, seed=seed)
    return draw_planted(appearance, N_FREE, n_photos=n_photos, n_regions=30, noise=0.5, seed=1000 * (part + 1) + seed)


def f1(found: Array, truth: Array) -> float:
    return 2.0 * float(np.sum(found & truth)) / float(np.sum(found) + np.sum(truth))


def match(found: Floats, truth: Floats) -> Floats:
    """Correlation of each true factor with its partner under the best one-to-one matching."""
    correlation = np.corrcoef(truth, found)[: len(truth), len(truth) :]
    return correlation[linear_sum_assignment(-correlation)]


@pytest.mark.parametrize("fields", [0.0, 1.0], ids=["ws-sibp", "ws-mrf-sibp"])
@pytest.mark.parametrize("seed", range(5))
def test_planted_factors_are_recovered(seed: int, fields: float) -> None:
    train, test = draw(300, seed, part=0), draw(100, seed, part=1)
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, coupling=fields, affinity=fields, seed=seed)
    model.fit(train.X, train.tags, groups=train.groups, edges=train.edges)
    assert f1(model.assign_[:, :TAGGED] > 0.5, train.assign[:, :TAGGED]) >= 0.95
    assert match(model.appearance_mean_[TAGGED:], train.appearance[TAGGED:]).min() >= 0.9
    unseen = model.infer(test.X, groups=test.groups, edges=test.edges)
    assert f1(unseen.assign[:, :TAGGED] > 0.5, test.assign[:, :TAGGED]) >= 0.9


@pytest.mark.parametrize("shrinkage", [None, 2.0])
@pytest.mark.parametrize("n_free", [0, N_FREE])
@pytest.mark.parametrize("seed", range(3))
def test_planted_exclusive_factors_are_recovered(seed: int, n_free: int, shrinkage: float | None) -> None:
    """One object or free factor per region, attributes beside it."""
    appearance = draw_appearance(TAGGED + n_free, D, seed=seed)
    train, test = (
        draw_planted(
            appearance, n_free, n_photos=n, n_regions=30, noise=0.5, n_objects=N_OBJECTS, seed=1000 * part + seed
        )
        for part, n in ((1, 300), (2, 100))
    )
    exclusive = np.r_[:N_OBJECTS, TAGGED : TAGGED + n_free]
    assert train.assign[:, exclusive].sum(axis=1).max() == 1
    assert train.assign[:, N_OBJECTS:TAGGED].sum(axis=1).max() > 1
    model = StackedIBP(
        N_OBJECTS, N_ATTRIBUTES, n_free, coupling=0.0, affinity=0.0, exclusive=True, shrinkage=shrinkage, seed=seed
    )
    model.fit(train.X, train.tags, groups=train.groups, edges=train.edges)
    assert model.assign_[:, exclusive].sum(axis=1).max() <= 1 + 1e-9
    assert f1(model.assign_[:, :TAGGED] > 0.5, train.assign[:, :TAGGED]) >= 0.95
    found = match(model.appearance_mean_[:TAGGED], train.appearance[:TAGGED])
    assert np.median(found) >= 0.95
    if n_free == 0:  # without trials, a free factor may replace an object
        assert found.min() >= 0.9
    unseen = model.infer(test.X, groups=test.groups, edges=test.edges)
    assert f1(unseen.assign[:, :TAGGED] > 0.5, test.assign[:, :TAGGED]) >= 0.9


@pytest.mark.parametrize("seed", range(3))
def test_unused_free_factors_are_reported(seed: int) -> None:
    train = draw(300, seed, part=0)
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE + 4, seed=seed)
    model.fit(train.X, train.tags, groups=train.groups, edges=train.edges)
    assert len(model.free_usage_.unused) == 4
    used = np.setdiff1d(np.arange(TAGGED, TAGGED + N_FREE + 4), model.free_usage_.unused)
    assert match(model.appearance_mean_[used], train.appearance[TAGGED:]).min() >= 0.9
