"""Each field's message is the gradient of its energy, and M is a correlation."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tagsight.model.fields import (
    affinity_energy,
    correlate,
    correlate_tagged,
    correlate_tags,
    spatial_agreement,
    spatial_message,
    start_affinity,
)
from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.settings import Settings
from tagsight.model.state import empty_summary
from tagsight.types import Array, Floats
from tests.model.cases import FACTORS, draw_case, draw_data, summarise

STEP = 1e-5


def photo_graph(rng: np.random.Generator) -> tuple[Array, Array, Floats]:
    """A ring of five with a chord: first entry of each region, its neighbours, weights."""
    pairs = {(0, 1): 0.5, (1, 2): 2.0, (2, 3): 1.0, (3, 4): 0.3, (0, 4): 1.7, (1, 3): 0.9}
    both = sorted([(a, b, w) for (a, b), w in pairs.items()] + [(b, a, w) for (a, b), w in pairs.items()])
    start = np.searchsorted([a for a, _, _ in both], np.arange(6))
    return start, np.array([b for _, b, _ in both]), np.array([w for _, _, w in both])


def central(energy, nu: Floats) -> Floats:
    gradient = np.empty_like(nu)
    for place in np.ndindex(nu.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = nu.copy()
            moved[place] += step
            ends.append(energy(moved))
        gradient[place] = (ends[0] - ends[1]) / (2 * STEP)
    return gradient


def test_the_spatial_message_is_the_gradient_of_agreement():
    rng = np.random.default_rng(0)
    start, neighbour, weight = photo_graph(rng)
    nu = rng.random((5, 3))
    message = np.empty_like(nu)
    for j in range(5):
        mine = slice(start[j], start[j + 1])
        spatial_message(nu, neighbour[mine], weight[mine], message[j])
    gradient = central(lambda nu: spatial_agreement(nu, start, neighbour, weight), nu)
    assert message == pytest.approx(gradient, abs=1e-8)


def test_agreement_of_certain_regions_counts_equal_neighbours():
    rng = np.random.default_rng(1)
    start, neighbour, weight = photo_graph(rng)
    z = (rng.random((5, 4)) < 0.5).astype(float)
    expected = sum(
        weight[e] * np.sum(z[j] == z[neighbour[e]])
        for j in range(5)
        for e in range(start[j], start[j + 1])
        if j < neighbour[e]
    )
    assert spatial_agreement(z, start, neighbour, weight) == pytest.approx(expected)


@pytest.mark.parametrize("centred", [False, True])
def test_the_within_region_message_is_the_gradient_of_its_energy(centred: bool):
    rng = np.random.default_rng(2)
    M = np.triu(rng.uniform(-1, 1, (4, 4)), 1)
    M += M.T
    nu = rng.random((5, 4))

    def energy(nu: Floats) -> float:
        count = nu.sum(axis=0)
        summary = empty_summary(4, 1, 1)._replace(pair=nu.T @ nu, photo_pair=np.outer(count, count) / len(nu))
        return affinity_energy(M, summary, centred)

    message = (nu - nu.mean(axis=0) if centred else nu) @ M
    assert message == pytest.approx(central(energy, nu), abs=1e-8)


@pytest.mark.parametrize("strength", ["coupling", "affinity"])
def test_a_field_moves_the_logits_of_a_sweep_by_its_message(strength: str):
    """One region's first factor is updated from the point itself, so its logit shows the message."""
    data = draw_data(np.random.default_rng(3), sizes=(2,))
    data = data._replace(allowed=np.ones_like(data.allowed))
    off = draw_case(3, data, coupling=0.0, affinity=0.0)
    on = off._replace(settings=off.settings._replace(**{strength: 0.7}))
    first = on.shard.layout.factor[0]
    logits = []
    for case in (off, on):
        local, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=1))
        nu = local.assign.reshape(-1, 2)[0, 0]
        logits.append(np.log(nu) - np.log1p(-nu))
    nu = on.local.assign.reshape(-1, 2)
    if strength == "coupling":
        message = data.edges.weight[0] * (2 * nu[0, 1] - 1)
    else:
        message = on.state.affinity[first, on.shard.layout.factor] @ nu[:, 0]
    assert logits[1] - logits[0] == pytest.approx(0.7 * message, rel=1e-6)


def test_a_centred_field_has_no_effect_where_all_regions_are_equal():
    data = draw_data(np.random.default_rng(6), sizes=(6,))
    data = data._replace(X=np.tile(data.X[0], (6, 1)), allowed=np.ones_like(data.allowed))

    def settle(**field: Any) -> Array:
        case = draw_case(6, data, coupling=0.0, **field)
        hazy = case.state.scales._replace(noise=20.0)
        state = case.state._replace(scales=hazy, affinity=np.abs(case.state.affinity))
        alike = case.local._replace(assign=np.full_like(case.local.assign, 0.5))
        local, _ = local_step(case.shard, alike, state, case.settings, SweepOptions(passes=500, tol=1e-12))
        return local.assign

    off = settle(affinity=0.0)
    assert np.mean((off > 0.02) & (off < 0.98)) > 0.3
    assert settle(affinity=0.3, centred=True) == pytest.approx(off, abs=1e-9)
    assert settle(affinity=0.3).sum() > 1.1 * off.sum()


def test_affinity_is_the_correlation_of_certain_assignments():
    z = (np.random.default_rng(4).random((200, 5)) < [0.1, 0.5, 0.9, 0.3, 0.3]).astype(float)
    z[:, 4] = np.where(np.arange(200) < 150, z[:, 3], z[:, 4])
    M = correlate(z.sum(axis=0), z.T @ z, 200)
    expected = np.corrcoef(z.T)
    np.fill_diagonal(expected, 0.0)
    assert pytest.approx(expected) == M
    assert correlate_tags(z, 2)[:5, :5] == pytest.approx(expected)
    assert np.all(correlate_tags(z, 2)[5:] == 0)
    assert np.all(correlate_tags(z, 2)[:, 5:] == 0)


def test_affinity_starts_at_that_of_the_tags_but_where_a_centred_field_learns_it():
    tags = (np.random.default_rng(7).random((50, FACTORS.tagged)) < 0.5).astype(np.uint8)
    of_tags = correlate_tags(tags, FACTORS.free)
    assert np.any(of_tags != 0)
    for centred, learned in product([False, True], repeat=2):
        settings = Settings(FACTORS, centred=centred, learn_affinity=learned)
        expected = 0 * of_tags if centred and learned else of_tags
        assert np.array_equal(start_affinity(tags, settings), expected)


def test_exclusive_factors_have_no_affinity_for_each_other():
    settings = Settings(FACTORS, exclusive=True)
    tags = (np.random.default_rng(7).random((50, FACTORS.tagged)) < 0.5).astype(np.uint8)
    summary = summarise(draw_case(5, exclusive=True))
    for M in (start_affinity(tags, settings), correlate_tagged(summary, settings)):
        assert np.all(M[: FACTORS.objects, : FACTORS.objects] == 0)
        assert np.any(M[: FACTORS.objects, FACTORS.objects : FACTORS.tagged] != 0)


def test_affinity_is_bounded_and_zero_for_constant_and_free_factors():
    summary = summarise(draw_case(5))
    M = correlate_tagged(summary, Settings(FACTORS))
    assert np.all(np.abs(M) <= 1)
    assert pytest.approx(M.T) == M
    assert np.any(M != 0)
    assert np.all(np.diag(M) == 0)
    assert np.all(M[FACTORS.tagged :] == 0)
    assert np.all(M[:, FACTORS.tagged :] == 0)
    always = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert np.all(correlate(always.sum(axis=0), always.T @ always, 2) == 0)
