"""Agreement with brute force over every state of z, in photos small enough to enumerate."""

from typing import Any

import numpy as np
import pytest

from tagsight.model.settings import Factors
from tagsight.model.state import Appearance
from tests import oracles
from tests.model.cases import (
    FIELD_CHOICES,
    Case,
    Data,
    dense,
    draw_case,
    draw_data,
    evaluate,
    flatten,
    for_oracle,
    make_shard,
    sweep_nu,
)

TINY = Factors(1, 1, 1)
KNOWN = np.full(3, 1e-300)  # variance of an appearance that is known; its logarithm is finite


def draw_tiny(seed: int, *, sizes: tuple[int, ...] = (3,), **choices: Any) -> Case:
    data = draw_data(np.random.default_rng(seed), TINY, sizes=sizes)
    data = data._replace(allowed=np.ones_like(data.allowed))
    case = draw_case(seed, data, TINY, **choices)
    appearance = Appearance(case.state.appearance.mean, KNOWN)
    return case._replace(state=case.state._replace(appearance=appearance))


def z_part(case: Case) -> float:
    """The terms of the bound that are a function of q(z)."""
    bound = evaluate(case)
    return bound.likelihood + bound.assignments + bound.assign_entropy + bound.spatial + bound.affinity


def update_first(case: Case, nu: np.ndarray, j: int, k: int) -> Case:
    """The same point with regions and columns renamed so that a sweep updates nu_jk before any other."""
    regions = np.r_[j, np.delete(np.arange(len(nu)), j)]
    columns = np.r_[k, np.delete(np.arange(nu.shape[1]), k)]
    place = np.argsort(regions)
    edges = case.data.edges._replace(pairs=place[case.data.edges.pairs])
    data = Data(case.data.X[regions], case.data.groups[regions], case.data.allowed[:, columns], edges)
    shard = make_shard(data, case.plan)
    mean, var = case.state.appearance
    state = case.state._replace(
        appearance=Appearance(mean[columns], var[columns]),
        affinity=case.state.affinity[np.ix_(columns, columns)],
    )
    local = case.local._replace(
        assign=flatten(shard.layout, nu[np.ix_(regions, columns)]),
        sticks=case.local.sticks[:, columns],
        order=np.argsort(columns)[case.local.order],
    )
    return case._replace(data=data, shard=shard, state=state, local=local)


@pytest.mark.parametrize("fields", FIELD_CHOICES)
def test_an_update_beside_certain_neighbours_is_the_exact_conditional(fields: dict[str, Any]):
    rng = np.random.default_rng(0)
    case = draw_tiny(0, **fields, sticks="single", stick_order="ranked")
    assert list(case.plan.order) != [0, 1, 2]
    case = case._replace(settings=case.settings._replace(stick_order="tagged-first"))
    states = oracles.enumerate_states(for_oracle(case))
    for _ in range(4):
        z = (rng.random((3, 3)) < 0.5).astype(float)
        for j in range(3):
            for k in range(3):
                updated = dense(sweep_nu(update_first(case, z, j, k)))[0, 0]
                assert updated == pytest.approx(oracles.conditional(states, z, j, k), abs=1e-12)


@pytest.mark.parametrize("fields", FIELD_CHOICES)
def test_the_exclusive_factors_of_a_region_get_their_exact_joint_conditional(fields: dict[str, Any]):
    rng = np.random.default_rng(5)
    case = draw_tiny(5, **fields, exclusive=True)
    states = oracles.enumerate_states(for_oracle(case))
    assert len(states.z) == 6**3  # object, free or none; attribute or not
    exclusive = np.array([True, False, True])
    for _ in range(4):
        z = states.z[rng.integers(len(states.z))]
        for j in range(3):
            rest = np.ones(z.shape, bool)
            rest[j, exclusive] = False
            same = (states.z == z)[:, rest].all(axis=1)
            weight = np.exp(states.log_joint[same] - states.log_joint[same].max())
            expected = weight @ states.z[same][:, j] / weight.sum()
            updated = dense(sweep_nu(update_first(case, z, j, 0)))[0]
            assert updated[exclusive] == pytest.approx(expected[exclusive], abs=1e-12)


def test_the_restricted_evidence_is_below_that_of_the_prior_with_its_normaliser():
    """The normaliser is a probability, of one factor on at most, so to drop it lowers the bound."""
    case = draw_tiny(6, coupling=0.0, affinity=0.0, exclusive=True)
    p = for_oracle(case)
    restricted = oracles.enumerate_states(p)
    on, off = oracles.log_weights(p, 0)
    odds = np.exp((on - off)[p.exclusive])
    log_normaliser = len(p.X) * (off[p.exclusive].sum() + np.log1p(odds.sum()))
    assert log_normaliser < 0
    assert z_part(sweep_nu(case, passes=60)) <= restricted.log_sum < restricted.log_sum - log_normaliser


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_z_is_below_the_exact_evidence(seed: int, centred: bool, exclusive: bool):
    case = draw_tiny(seed, coupling=0.7, affinity=1.0, centred=centred, exclusive=exclusive)
    exact = oracles.enumerate_states(for_oracle(case)).log_sum
    assert z_part(case) < exact
    gap = exact - z_part(sweep_nu(case, passes=60))
    assert 0 < gap < exact - z_part(case)


@pytest.mark.parametrize("exclusive", [False, True])
def test_the_bound_of_z_is_exact_when_factors_are_orthogonal_and_fields_off(exclusive: bool):
    """Exclusive factors need only be orthogonal to the attributes."""
    case = draw_tiny(1, coupling=0.0, affinity=0.0, exclusive=exclusive)
    mean = np.eye(3, 4) * [[1.5], [0.7], [-1.1]]
    mean[2, 0] = 0.9 * exclusive
    case = case._replace(state=case.state._replace(appearance=Appearance(mean, KNOWN)))
    states = oracles.enumerate_states(for_oracle(case))
    swept = sweep_nu(case)
    assert z_part(swept) == pytest.approx(states.log_sum, rel=1e-12)
    assert dense(swept) == pytest.approx(states.marginals, abs=1e-12)


def test_weak_couplings_give_nearly_the_exact_marginals():
    for seed in range(3):
        case = draw_tiny(seed, coupling=0.1, affinity=0.2)
        mean = np.eye(3, 4) + 0.05 * case.state.appearance.mean
        case = case._replace(state=case.state._replace(appearance=Appearance(mean, KNOWN)))
        nu = dense(sweep_nu(case, passes=50))
        assert nu == pytest.approx(oracles.enumerate_states(for_oracle(case)).marginals, abs=0.01)


def test_photos_are_enumerated_apart_when_tags_differ():
    data = draw_data(np.random.default_rng(3), TINY, sizes=(2, 1))
    data = data._replace(allowed=np.array([[1, 0, 1], [0, 1, 1]], np.uint8))
    case = draw_case(3, data, TINY, coupling=0.5, affinity=0.5)
    mean = case.state.appearance.mean
    case = case._replace(state=case.state._replace(appearance=Appearance(mean, KNOWN)))
    swept = sweep_nu(case, passes=60)
    exact = oracles.enumerate_states(for_oracle(case)).log_sum
    assert exact - 0.5 < z_part(swept) < exact
