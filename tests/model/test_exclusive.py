"""At most one object or free factor is on in a region: one softmax per region, exact in extremes."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logit, logsumexp

from tagsight.engine.inference import infer_shard, start_at_rates
from tagsight.model.assignments import _apply_softmax, assign_entropy
from tagsight.model.layout import Shard, lay_out_parts
from tagsight.model.local_step import add_squares, local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.settings import STICK_ORDERS, STICKS, Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.model.state import Local, merge
from tests.model.cases import (
    STICK_CHOICES,
    Case,
    dense,
    draw_case,
    draw_data,
    flatten,
)

ROUNDING = 1e-12


def run(case: Case, passes: int = 3, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """nu (N, K) and its log-odds after some sweeps; -inf where forbidden."""
    shard = case.shard._replace(features=case.data.X.astype(dtype))
    local = case.local._replace(assign=case.local.assign.astype(dtype))
    log_odds = np.empty_like(local.assign)
    local, _ = local_step(shard, local, case.state, case.settings, SweepOptions(passes=passes), log_odds=log_odds)
    nu = dense(case._replace(local=local))
    forbidden = case.data.allowed[case.data.groups] == 0
    return nu, np.where(forbidden, -np.inf, dense(case._replace(local=local._replace(assign=log_odds))))


@pytest.mark.parametrize("choices", STICK_CHOICES)
def test_nu_sums_to_one_at_most_and_is_zero_where_forbidden(choices: dict[str, Any]):
    case = draw_case(1, coupling=2.0, affinity=2.0, exclusive=True, **choices)
    nu, _ = run(case)
    exclusive = case.plan.exclusive
    forbidden = case.data.allowed[case.data.groups] == 0
    assert np.all(nu[forbidden] == 0.0)
    assert np.all(nu[~forbidden] > 0.0)
    assert np.all(nu[:, exclusive].sum(axis=1) <= 1 + ROUNDING)
    assert np.any(nu[:, exclusive].sum(axis=1) > 0.9)


@pytest.mark.parametrize("order", STICK_ORDERS)
@pytest.mark.parametrize("sticks", STICKS)
def test_exclusive_factors_are_updated_first(sticks: str, order: str):
    plan = plan_sticks(Settings(Factors(3, 2, 4), sticks=sticks, stick_order=order, exclusive=True))
    assert list(plan.exclusive) == [True] * 3 + [False] * 2 + [True] * 4
    assert list(plan.exclusive[plan.order]) == [True] * 7 + [False] * 2
    assert sorted(plan.order) == list(range(9))
    assert not plan_sticks(Settings(Factors(3, 2, 4))).exclusive.any()


@pytest.mark.parametrize("start", STARTS)
def test_every_start_is_a_distribution(start: str):
    case = draw_case(2, exclusive=True)
    fill = STARTS[start]([case.shard], case.settings.factors, 0)
    local = start_local(case.shard, fill, case.state.sparsity.mean, case.plan)
    nu = dense(case._replace(local=local))
    assert np.all(nu[:, case.plan.exclusive].sum(axis=1) <= 1 + ROUNDING)
    assert np.all(nu[case.data.allowed[case.data.groups] == 0] == 0.0)


def test_the_entropy_is_that_of_a_categorical_and_of_bernoulli_variables():
    nu = np.array([[0.2, 0.0], [0.5, 1.0], [0.4, 1.0]])
    rows = [[0.2, 0.5, 0.3], [0.4, 0.6]]
    expected = -sum(p * np.log(p) for row in rows for p in row)
    assert assign_entropy(nu, 2) == pytest.approx(expected)
    assert assign_entropy(nu[:2], 2) == pytest.approx(-sum(p * np.log(p) for p in rows[0]))


def test_log_odds_are_those_of_nu():
    case = draw_case(3, exclusive=True, coupling=0.5, affinity=0.5)
    nu, log_odds = run(case)
    inside = (nu > 1e-9) & (nu < 1 - 1e-6)
    assert inside.sum() > 20
    assert log_odds[inside] == pytest.approx(logit(nu[inside]), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
def test_extreme_evidence_gives_finite_log_odds_in_the_order_of_the_evidence(scale: float, dtype: Any):
    """Regions that lie on the appearance of one factor; the evidence grows with their distance from 0."""
    factors, D = Factors(2, 1, 1), 4
    data = draw_data(np.random.default_rng(4), factors, sizes=(6,), D=D)
    data = data._replace(allowed=np.ones_like(data.allowed))
    case = draw_case(4, data, factors, exclusive=True, coupling=0.0, affinity=0.0)
    mean = np.eye(D)
    strength = scale * np.array([1.0, 2.0, 2.5, 3.0, 4.0, 5.0])
    X = 0.5 * np.eye(D)[[0] * 6] + strength[:, None] * mean[0]
    X = X[np.argsort(np.argsort(case.shard.layout.rows))]
    state = case.state._replace(
        appearance=case.state.appearance._replace(mean=mean, var=np.full(4, 1e-9)),
        scales=case.state.scales._replace(noise=1.0),
    )
    case = case._replace(data=data._replace(X=X), shard=case.shard._replace(features=X), state=state)
    nu, log_odds = run(case, passes=1, dtype=dtype)
    assert np.isfinite(nu).all()
    assert np.isfinite(log_odds).all()
    assert np.all(nu[:, case.plan.exclusive].sum(axis=1) <= 1 + 1e-6)
    by_evidence = np.argsort(X[:, 0])
    assert np.all(np.diff(log_odds[by_evidence, 0]) > 0)
    assert np.all(np.diff(log_odds[by_evidence, 1]) < 0)
    assert np.diff(log_odds[by_evidence, 0]) == pytest.approx(np.diff(np.sort(X[:, 0])), rel=0.3, abs=1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_odds_against_everything_else_are_exact_however_far_apart(dtype: Any):
    eta = np.array([[1e4, -1e4, 0.0, 700.0, -3.0], [9e3, -2e4, 0.0, 1e4, 2.0], [-1e4, 5.0, 0.0, 1e4, -800.0]], dtype)
    log_odds, nu = eta.copy(), np.empty_like(eta)
    entropy = _apply_softmax(log_odds, 0, eta.shape[1], 3, nu)
    expected = np.empty(eta.shape)
    total, all_eta = 0.0, np.vstack([np.zeros(eta.shape[1]), eta.astype(float)])
    for j in range(eta.shape[1]):
        p = np.exp(all_eta[:, j] - logsumexp(all_eta[:, j]))
        total -= np.sum(p[p > 0] * np.log(p[p > 0]))
        for k in range(3):
            expected[k, j] = eta[k, j] - logsumexp(np.delete(all_eta[:, j], k + 1))
            assert nu[k, j] == pytest.approx(p[k + 1], abs=1e-6 if dtype == np.float32 else 1e-12)
    assert log_odds == pytest.approx(expected, rel=1e-6 if dtype == np.float32 else 1e-12)
    assert entropy == pytest.approx(total, abs=1e-9)


def test_single_precision_follows_double():
    case = draw_case(5, exclusive=True)
    assert run(case, dtype=np.float32)[0] == pytest.approx(run(case)[0], abs=2e-4)


@pytest.mark.parametrize("noise", ["isotropic", "full"])
def test_summaries_of_halves_add_to_the_whole(noise: str):
    case = draw_case(6, exclusive=True, noise=noise, coupling=0.8, affinity=1.2)
    options, nu, photos, parts = SweepOptions(passes=2), dense(case), 0, []
    for layout in lay_out_parts(case.data.groups, case.data.allowed, case.data.edges, case.plan, 2):
        own = slice(photos, photos + layout.n_photos)
        photos += layout.n_photos
        shard = Shard(case.data.X, layout, add_squares(case.data.X, layout, noise=noise))
        local = Local(flatten(layout, nu), case.local.sticks[own], case.local.order[own])
        parts.append(local_step(shard, local, case.state, case.settings, options)[1])
    whole = local_step(case.shard, case.local, case.state, case.settings, options)[1]
    for x, y in zip(merge(*parts), whole, strict=True):
        assert x == pytest.approx(y, rel=1e-10, abs=1e-10)
    apart = np.ix_(case.plan.exclusive, case.plan.exclusive)
    assert np.array_equal(whole.pair[apart], np.diag(np.diag(whole.pair[apart])))
    assert np.linalg.eigvalsh(whole.pair).min() > -1e-9


def test_inference_on_new_photos_gives_a_distribution():
    case = draw_case(7, exclusive=True)
    rates = np.full(case.settings.factors.total, 0.15)
    local = start_at_rates(case.shard, case.state, rates, case.settings)
    read = infer_shard(case.shard, local, case.data.allowed, case.state, case.settings, map)
    assert np.all(read.assign[:, case.plan.exclusive].sum(axis=1) <= 1 + ROUNDING)
    allowed = case.data.allowed[case.data.groups] == 1
    assert np.isfinite(read.log_odds[allowed]).all()
    assert np.all(read.log_odds[~allowed] == -np.inf)
