"""The bound that the model reports is the bound of the equations, term by term."""

from typing import Any

import pytest

from tagsight.model.bound import evaluate_bound
from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.settings import NOISES
from tests import oracles
from tests.model.cases import (
    EXCLUSIVE_CHOICES,
    FIELD_CHOICES,
    STICK_CHOICES,
    draw_case,
    evaluate,
    for_oracle,
    summarise,
)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("choices", STICK_CHOICES)
@pytest.mark.parametrize("seed", range(3))
def test_every_term_is_the_literal_one_at_a_random_point(choices: dict[str, Any], seed: int, noise: str):
    case = draw_case(seed, coupling=0.8, affinity=1.3, noise=noise, **choices)
    assert evaluate(case)._asdict() == pytest.approx(oracles.bound(for_oracle(case)), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("fields", FIELD_CHOICES)
def test_the_fields_enter_with_their_strengths(fields: dict[str, Any]):
    case = draw_case(7, **fields)
    bound = evaluate(case)
    assert bound._asdict() == pytest.approx(oracles.bound(for_oracle(case)), rel=1e-10, abs=1e-10)
    assert bound.total == pytest.approx(sum(bound))
    assert (bound.spatial == 0) == (fields["coupling"] == 0)
    assert (bound.affinity == 0) == (fields["affinity"] == 0)


@pytest.mark.parametrize("fields", FIELD_CHOICES)
@pytest.mark.parametrize("choices", EXCLUSIVE_CHOICES)
def test_every_term_is_the_literal_one_of_exclusive_and_shrunken_factors(
    choices: dict[str, Any], fields: dict[str, Any]
):
    case = draw_case(8, **fields, **choices)
    assert evaluate(case)._asdict() == pytest.approx(oracles.bound(for_oracle(case)), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("sticks", STICK_CHOICES)
def test_every_term_is_the_literal_one_of_exclusive_factors_with_any_sticks(sticks: dict[str, Any]):
    case = draw_case(9, coupling=0.8, affinity=1.3, exclusive=True, **sticks)
    assert evaluate(case)._asdict() == pytest.approx(oracles.bound(for_oracle(case)), rel=1e-10, abs=1e-10)
    local, summary = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=2))
    computed = evaluate_bound(summary, case.state, case.settings)
    expected = oracles.bound(for_oracle(case._replace(local=local)))
    assert computed._asdict() == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("choices", STICK_CHOICES)
def test_the_summary_of_a_step_is_that_of_the_updated_posterior(choices: dict[str, Any], passes: int, centred: bool):
    case = draw_case(11, coupling=0.8, affinity=1.3, centred=centred, **choices)
    local, summary = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=passes))
    computed = evaluate_bound(summary, case.state, case.settings)
    found = evaluate(case._replace(local=local))
    assert computed._asdict() == pytest.approx(found._asdict(), rel=1e-11, abs=1e-11)


def test_a_step_does_not_change_its_input():
    case = draw_case(12)
    before = summarise(case)
    local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=2))
    assert summarise(case).log_prior == before.log_prior
    assert summarise(case).assign_entropy == before.assign_entropy
