"""The stick-breaking prior and its multinomial bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import beta as beta_law

from tagsight.model.photo_sticks import expect_weights, update_photo_sticks
from tagsight.model.settings import STICK_ORDERS, STICK_SPANS, STICKS, Factors, Settings, plan_sticks
from tagsight.model.sticks import expect_logs, stick_bound, stick_entropy, update_tau
from tagsight.types import Floats
from tests import oracles

taus = arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(0.05, 200.0))


def logs(tau: Floats) -> tuple[Floats, Floats, Floats, float]:
    on, off, breaks = np.empty(len(tau)), np.empty(len(tau)), np.empty(len(tau))
    total = expect_logs(tau, on, off, breaks)
    return on, off, breaks, total


@settings(deadline=None, max_examples=40)
@given(taus)
def test_expected_logs_are_the_literal_ones(tau: Floats):
    on, off, breaks, total = logs(tau)
    q = oracles.best_q(tau)
    assert on == pytest.approx(np.cumsum(oracles.expect_log_v(tau)), rel=1e-9)
    assert total == pytest.approx(oracles.expect_log_v(tau).sum(), rel=1e-9)
    assert breaks == pytest.approx(oracles.log_breaks(tau), rel=1e-9)
    literal = [oracles.multinomial_bound(tau, m, q[m]) for m in range(len(tau))]
    assert off == pytest.approx(np.array(literal), rel=1e-9, abs=1e-9)


def test_the_bound_of_log_one_minus_pi_is_below_monte_carlo_and_close():
    rng = np.random.default_rng(0)
    for _ in range(5):
        tau = rng.uniform(1.0, 8.0, (5, 2))
        pi = np.cumprod(rng.beta(tau[:, 0], tau[:, 1], (200_000, 5)), axis=1)
        draws = np.log1p(-pi)
        error = 5 * draws.std(axis=0) / np.sqrt(len(draws))
        off = logs(tau)[1]
        assert np.all(off <= draws.mean(axis=0) + error)
        assert np.all(off >= draws.mean(axis=0) - error - 0.25)
        assert off[0] == pytest.approx(draws[:, 0].mean(), abs=error[0])


def test_no_other_q_gives_a_higher_bound():
    rng = np.random.default_rng(1)
    tau = rng.uniform(0.3, 6.0, (6, 2))
    off = logs(tau)[1]
    for m in range(6):
        for q in rng.dirichlet(np.ones(m + 1), 50):
            assert oracles.multinomial_bound(tau, m, q) <= off[m] + 1e-12


@settings(deadline=None, max_examples=40)
@given(taus, st.floats(0.1, 50.0), st.integers(0, 2**32 - 1))
def test_tau_is_updated_as_written(tau: Floats, alpha: float, seed: int):
    rng = np.random.default_rng(seed)
    size = 20.0
    count = rng.uniform(0, size, len(tau))
    absent = (size - count) * (rng.random(len(tau)) < 0.8)
    _, off, breaks, _ = logs(tau)
    new = np.empty_like(tau)
    update_tau(count, absent, alpha, off, breaks, new)
    assert new == pytest.approx(oracles.update_tau(count, absent, alpha, tau), rel=1e-8)


@settings(deadline=None, max_examples=40)
@given(taus)
def test_entropy_is_that_of_beta_laws(tau: Floats):
    expected = beta_law.entropy(tau[:, 0], tau[:, 1]).sum()
    assert stick_entropy(tau) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_stick_bound_is_the_sum_of_its_terms():
    rng = np.random.default_rng(2)
    tau, count, alpha = rng.uniform(0.5, 5.0, (6, 2)), rng.uniform(0, 9, 6), 2.5
    absent = 9 - count
    on, off, _, total = logs(tau)
    expected = (alpha - 1) * total + beta_law.entropy(tau[:, 0], tau[:, 1]).sum() + count @ on + absent @ off
    assert stick_bound(count, absent, alpha, tau) == pytest.approx(expected, rel=1e-9)


def test_ranked_sticks_put_the_most_used_factor_first():
    plan = plan_sticks(Settings(Factors(0, 0, 5)))
    order, tau = np.arange(5), np.ones((5, 2))
    expected_count = np.array([1.0, 30.0, 5.0, 60.0, 2.0])
    for _ in range(3):
        update_photo_sticks(order, tau, np.arange(5), expected_count, 64, np.ones(3), plan)
    assert list(order) == [3, 1, 2, 4, 0]
    weight = expect_weights(order[None], tau[None], np.ones((1, 5), int), plan)[0]
    assert weight == pytest.approx(expected_count / 64, abs=0.1)


def test_an_order_that_is_not_ranked_stays():
    plan = plan_sticks(Settings(Factors(0, 0, 4), stick_order="free-first"))
    order, tau = np.arange(4), np.ones((4, 2))
    update_photo_sticks(order, tau, np.arange(4), np.array([1.0, 9.0, 5.0, 3.0]), 10, np.ones(3), plan)
    assert list(order) == [0, 1, 2, 3]


@pytest.mark.parametrize("sticks", STICKS)
@pytest.mark.parametrize("stick_order", STICK_ORDERS)
@pytest.mark.parametrize("stick_span", STICK_SPANS)
def test_expected_weights_are_products_along_the_sequence(sticks, stick_order, stick_span):
    rng = np.random.default_rng(3)
    settings = Settings(Factors(3, 2, 2), sticks=sticks, stick_order=stick_order, stick_span=stick_span)
    plan = plan_sticks(settings)
    kind = [0, 0, 0, 1, 1, 2, 2]
    tau, allowed = rng.uniform(0.5, 5.0, (4, 7, 2)), (rng.random((4, 7)) < 0.6).astype(int)
    weight = expect_weights(np.tile(plan.order, (4, 1)), tau, allowed, plan)
    first = [0, 1, 2, 3, 4, 5, 6] if stick_order == "tagged-first" else [5, 6, 0, 1, 2, 3, 4]
    for i in range(4):
        for place, k in enumerate(first):
            product = 1.0
            for m in first[: place + 1]:
                same = sticks == "single" or kind[m] == kind[k]
                if same and (stick_span == "all" or allowed[i, m]):
                    product *= tau[i, m, 0] / tau[i, m].sum()
            assert weight[i, k] == pytest.approx(product if allowed[i, k] else 0.0)
