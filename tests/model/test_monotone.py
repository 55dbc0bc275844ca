"""The bound never falls: each update alone, and whole sweeps, whatever the sticks and the fields."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tagsight.model.bound import evaluate_bound
from tagsight.model.global_step import (
    compute_prior_precision,
    fit_appearance_scale,
    fit_noise,
    fit_sparsity,
    global_step,
    solve_appearance,
)
from tagsight.model.layout import Shard, lay_out_parts
from tagsight.model.local_step import add_squares, local_step
from tagsight.model.noise import fit_full_noise
from tagsight.model.photo_step import SweepOptions, index_allowed, sum_rows
from tagsight.model.photo_sticks import update_photo_sticks
from tagsight.model.settings import Factors
from tagsight.model.state import Appearance, Local, Scales, merge, remove
from tests.model.cases import (
    EXCLUSIVE_CHOICES,
    FIELD_CHOICES,
    STICK_CHOICES,
    Case,
    dense,
    draw_case,
    draw_data,
    evaluate,
    flatten,
    summarise,
    sweep_nu,
)
from tests.oracles import is_rising


def update_sticks(case: Case) -> Case:
    layout, plan = case.shard.layout, case.plan
    local = Local(case.local.assign, case.local.sticks.copy(), case.local.order.copy())
    for i in range(layout.n_photos):
        size = int(layout.slot_start[i + 1] - layout.slot_start[i])
        factor = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
        nu = local.assign[layout.assign_start[i] : layout.assign_start[i + 1]].reshape(len(factor), size)
        expected_count = np.empty(len(factor))
        sum_rows(nu, expected_count)
        local_index = index_allowed(factor, len(plan.sequence))
        alpha = case.state.sparsity.mean
        update_photo_sticks(local.order[i], local.sticks[i], local_index, expected_count, size, alpha, plan)
    return case._replace(local=local)


def update_appearance(case: Case) -> Case:
    prior_precision = compute_prior_precision(case.settings, case.state.scales)
    appearance = solve_appearance(summarise(case), case.state.scales, prior_precision)
    return case._replace(state=case.state._replace(appearance=appearance))


def update_noise(case: Case) -> Case:
    prior_precision = compute_prior_precision(case.settings, case.state.scales) if case.settings.shrinkage else None
    noise = fit_noise(summarise(case), case.state.appearance, prior_precision)
    return case._replace(state=case.state._replace(scales=case.state.scales._replace(noise=noise)))


def update_appearance_scale(case: Case) -> Case:
    scale = fit_appearance_scale(case.state.appearance, case.state.inverse_shape)
    return case._replace(state=case.state._replace(scales=case.state.scales._replace(appearance=scale)))


def update_full_noise(case: Case) -> Case:
    summary, (appearance, scales, *_, inverse_shape) = summarise(case), case.state
    prior_precision = compute_prior_precision(case.settings, scales)
    appearance, noise, inverse_shape = fit_full_noise(summary, appearance, scales.noise, prior_precision, inverse_shape)
    scales = Scales(noise, scales.appearance * noise / scales.noise)
    return case._replace(state=case.state._replace(appearance=appearance, scales=scales, inverse_shape=inverse_shape))


def update_sparsity(case: Case) -> Case:
    return case._replace(state=case.state._replace(sparsity=fit_sparsity(summarise(case))))


UPDATES: list[Callable[[Case], Case]] = [
    sweep_nu,
    update_sticks,
    update_appearance,
    update_noise,
    update_appearance_scale,
    update_sparsity,
]


def updates_of(case: Case) -> list[Callable[[Case], Case]]:
    """The updates of the case's settings."""
    full, learned = case.settings.noise == "full", case.settings.shrinkage is None
    updates = [update_full_noise if full and update is update_noise else update for update in UPDATES]
    return updates if learned else [update for update in updates if update is not update_appearance_scale]


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("choices", STICK_CHOICES)
def test_each_update_alone_raises_the_bound_from_a_random_point(
    choices: dict[str, Any], update: Callable[[Case], Case]
):
    for seed in range(4):
        case = draw_case(seed, coupling=1.0, affinity=1.0, **choices)
        assert evaluate(update(case)).total > evaluate(case).total


@pytest.mark.parametrize("fields", FIELD_CHOICES)
def test_no_update_ever_lowers_the_bound_on_the_way_to_convergence(fields: dict[str, Any]):
    for seed in range(3):
        case = draw_case(seed, **fields)
        bounds = [evaluate(case).total]
        for _ in range(25):
            for update in UPDATES:
                case = update(case)
                bounds.append(evaluate(case).total)
        assert is_rising(bounds)


@pytest.mark.parametrize("fields", FIELD_CHOICES)
def test_no_update_lowers_the_bound_with_a_full_noise_covariance(fields: dict[str, Any]):
    updates = updates_of(draw_case(0, **fields, noise="full"))
    for seed in range(3):
        case = draw_case(seed, **fields, noise="full")
        bounds = [evaluate(case).total]
        for _ in range(25):
            for update in updates:
                case = update(case)
                bounds.append(evaluate(case).total)
        assert is_rising(bounds)
        assert is_rising(_bounds_of_sweeps(draw_case(seed, **fields, noise="full"), n_batches=3))


@pytest.mark.parametrize("choices", EXCLUSIVE_CHOICES)
def test_each_update_alone_raises_the_bound_of_exclusive_and_shrunken_factors(choices: dict[str, Any]):
    for seed in range(3):
        case = draw_case(seed, coupling=1.0, affinity=1.0, centred=seed == 1, **choices)
        for update in updates_of(case):
            assert evaluate(update(case)).total > evaluate(case).total, update


@pytest.mark.parametrize("fields", FIELD_CHOICES)
@pytest.mark.parametrize("choices", EXCLUSIVE_CHOICES)
def test_no_update_lowers_the_bound_of_exclusive_and_shrunken_factors(choices: dict[str, Any], fields: dict[str, Any]):
    case = draw_case(2, **fields, **choices)
    bounds = [evaluate(case).total]
    for _ in range(15):
        for update in updates_of(case):
            case = update(case)
            bounds.append(evaluate(case).total)
    assert is_rising(bounds)
    start = draw_case(3, **fields, **choices, passes=2)
    assert is_rising(_bounds_of_sweeps(start, n_batches=1))
    assert is_rising(_bounds_of_sweeps(start, n_batches=3))


@pytest.mark.parametrize("sticks", STICK_CHOICES)
def test_sweeps_of_exclusive_factors_never_lower_the_bound(sticks: dict[str, Any]):
    case = draw_case(4, coupling=1.0, affinity=1.0, exclusive=True, **sticks)
    assert is_rising(_bounds_of_sweeps(case, n_batches=2))


@pytest.mark.parametrize("choices", STICK_CHOICES)
@pytest.mark.parametrize("fields", FIELD_CHOICES)
def test_whole_sweeps_never_lower_the_bound(choices: dict[str, Any], fields: dict[str, Any]):
    case = draw_case(5, **fields, passes=2, **choices)
    assert is_rising(_bounds_of_sweeps(case, n_batches=1))


@pytest.mark.parametrize("choices", STICK_CHOICES)
def test_memoised_batches_never_lower_the_bound(choices: dict[str, Any]):
    case = draw_case(6, coupling=2.0, affinity=2.0, **choices)
    assert is_rising(_bounds_of_sweeps(case, n_batches=3))


def test_neighbours_updated_together_would_lower_the_bound():
    """Design note 7, and proof that the tests above can fail: two neighbours that copy each other at once."""
    lone = Factors(0, 0, 1)
    case = draw_case(8, draw_data(np.random.default_rng(8), lone, sizes=(2,)), lone, coupling=5.0, affinity=0.0)
    unseen = Appearance(np.zeros_like(case.state.appearance.mean), np.array([1e-9]))
    case = case._replace(
        state=case.state._replace(appearance=unseen),
        local=case.local._replace(assign=np.array([0.6, 0.4]), sticks=np.ones((1, 1, 2))),
    )
    layout = case.shard.layout
    at_once = layout._replace(colour_start=np.array([0, 1]), class_start=layout.slot_start)
    careless = case._replace(shard=case.shard._replace(layout=at_once))
    assert evaluate(sweep_nu(case)).total > evaluate(case).total
    assert evaluate(sweep_nu(careless)).total < evaluate(case).total - 0.1


def _bounds_of_sweeps(case: Case, n_batches: int, n_sweeps: int = 15) -> list[float]:
    """The bound after every global step."""
    data, settings, state = case.data, case.settings, case.state
    layouts = lay_out_parts(data.groups, data.allowed, data.edges, case.plan, n_batches)
    shards = [Shard(data.X, layout, add_squares(data.X, layout, noise=settings.noise)) for layout in layouts]
    nu, ends = dense(case), np.cumsum([0] + [layout.n_photos for layout in layouts])
    locals_ = [
        Local(
            flatten(layout, nu),
            case.local.sticks[ends[b] : ends[b + 1]],
            case.local.order[ends[b] : ends[b + 1]],
        )
        for b, layout in enumerate(layouts)
    ]
    summaries = [
        local_step(shard, local, state, settings, SweepOptions(passes=0))[1]
        for shard, local in zip(shards, locals_, strict=True)
    ]
    total = summaries[0]
    for part in summaries[1:]:
        total = merge(total, part)
    bounds = [evaluate_bound(total, state, settings).total]
    for _ in range(n_sweeps):
        for b, shard in enumerate(shards):
            locals_[b], fresh = local_step(shard, locals_[b], state, settings, SweepOptions(passes=settings.passes))
            total, summaries[b] = merge(remove(total, summaries[b]), fresh), fresh
            state = global_step(total, state, settings)
            bounds.append(evaluate_bound(total, state, settings).total)
    return bounds
