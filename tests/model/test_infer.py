"""Inference on new photos, which starts at the rates of the training photos."""

import numpy as np
import pytest
from scipy.special import expit

from tagsight.engine.inference import infer_shard, start_at_rates
from tagsight.model.free_factors import measure_free_usage
from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.photo_sticks import expect_weights
from tagsight.model.settings import Factors
from tagsight.model.state import empty_summary
from tests.model.cases import dense, draw_case


def test_every_region_starts_at_the_rates_its_photo_allows():
    case = draw_case(1)
    rates = np.linspace(0.1, 0.7, case.settings.factors.total)
    local = start_at_rates(case.shard, case.state, rates, case.settings)
    assert dense(case._replace(local=local)) == pytest.approx(rates * case.data.allowed[case.data.groups])


def test_inference_converges_as_sweeps_do_and_keeps_the_order_of_the_features():
    case = draw_case(2, stick_order="free-first")
    read = infer_shard(case.shard, case.local, case.data.allowed, case.state, case.settings, map)
    local, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=300))
    assert read.assign == pytest.approx(dense(case._replace(local=local)), abs=0.02)
    weights = expect_weights(local.order, local.sticks, case.data.allowed, case.plan)
    assert read.prior == pytest.approx(weights, abs=0.02)
    assert read.appearance is case.state.appearance.mean
    forbidden = case.data.allowed[case.data.groups] == 0
    assert np.all(read.log_odds[forbidden] == -np.inf)
    assert expit(read.log_odds) == pytest.approx(read.assign, abs=1e-12)


def test_free_factors_in_less_than_one_region_are_unused():
    summary = empty_summary(6, 1, 3)
    summary.count[:] = [0.0, 50.0, 3.0, 0.99, 1.0, 0.0]
    usage = measure_free_usage(summary, Factors(1, 1, 4))
    assert list(usage.unused) == [3, 5]
    assert list(usage.regions) == [3.0, 0.99, 1.0, 0.0]
