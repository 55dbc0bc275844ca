"""A factor that the tags forbid is exactly off."""

from typing import Any

import numpy as np
import pytest

from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.photo_sticks import expect_weights
from tagsight.model.start import STARTS, start_local
from tests.model.cases import STICK_CHOICES, dense, draw_case, draw_data


@pytest.mark.parametrize("choices", STICK_CHOICES)
def test_nu_is_exactly_zero_where_forbidden(choices: dict[str, Any]):
    case = draw_case(1, coupling=5.0, affinity=5.0, **choices)
    forbidden = case.data.allowed[case.data.groups] == 0
    assert forbidden.any()
    local, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=4))
    nu = dense(case._replace(local=local))
    assert np.all(nu[forbidden] == 0.0)
    assert np.all(nu[~forbidden] > 0.0)
    prior = expect_weights(local.order, local.sticks, case.data.allowed, case.plan)
    assert np.all((prior == 0.0) == (case.data.allowed == 0))


@pytest.mark.parametrize("start", STARTS)
def test_every_start_respects_the_tags(start: str):
    case = draw_case(2)
    fill = STARTS[start]([case.shard], case.settings.factors, 0)
    local = start_local(case.shard, fill, case.state.sparsity.mean, case.plan)
    nu = dense(case._replace(local=local))
    assert np.all(nu[case.data.allowed[case.data.groups] == 0] == 0.0)


def test_forbidden_factors_are_no_evidence_about_the_sticks():
    """The paper counts N_i absences for each; here the sticks of photos that allow no factor keep their prior."""
    data = draw_data(np.random.default_rng(3))
    nothing = data._replace(allowed=np.zeros_like(data.allowed))
    case = draw_case(3, nothing, stick_span="all", sticks="single")
    local, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=1))
    alpha = case.state.sparsity.mean[0]
    assert local.sticks == pytest.approx(np.broadcast_to([alpha, 1.0], local.sticks.shape))
