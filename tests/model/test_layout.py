"""Layouts separate neighbours by colour, hold every region and edge, and omit forbidden factors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagsight.model.layout import (
    Edges,
    Layout,
    clear_columns,
    lay_out,
    lay_out_parts,
    scatter_assign,
    sum_squares,
)
from tagsight.model.settings import Factors, Settings, StickPlan, plan_sticks
from tagsight.types import Array, Floats
from tests.model.cases import FACTORS, Data, draw_data, flatten

PLAN = plan_sticks(Settings(FACTORS))
sizes = st.lists(st.integers(0, 9), min_size=1, max_size=6)
seeds = st.integers(0, 2**32 - 1)


def random_graph(sizes: list[int], seed: int) -> Data:
    rng = np.random.default_rng(seed)
    data = draw_data(rng, sizes=tuple(sizes))
    a, b = np.triu_indices(len(data.groups), 1)
    keep = (data.groups[a] == data.groups[b]) & (rng.random(len(a)) < rng.random())
    pairs = np.stack([a[keep], b[keep]], axis=1)
    return data._replace(edges=Edges(pairs, rng.random(len(pairs))))


def spread(layout: Layout, flat: Floats, n: int) -> Floats:
    out = np.full((n, FACTORS.total), -1.0)
    scatter_assign(layout, flat, np.arange(n), out)
    return out


def edges_of(layout: Layout) -> set[tuple[int, int, float]]:
    """Every neighbour entry of the layout as rows of the features."""
    found = set()
    for i in range(layout.n_photos):
        s0, s1 = layout.slot_start[i], layout.slot_start[i + 1]
        for slot in range(s0, s1):
            for e in range(layout.neighbour_start[slot], layout.neighbour_start[slot + 1]):
                other = layout.rows[s0 + layout.neighbour[e]]
                found.add((int(layout.rows[slot]), int(other), float(layout.weight[e])))
    return found


@settings(deadline=None, max_examples=60)
@given(sizes, seeds)
def test_no_two_neighbours_share_a_colour(sizes: list[int], seed: int):
    data = random_graph(sizes, seed)
    layout = lay_out(data.groups, data.allowed, data.edges, PLAN)
    colour = np.empty(len(data.groups), int)
    for c in range(len(layout.class_start) - 1):
        colour[layout.rows[layout.class_start[c] : layout.class_start[c + 1]]] = c
    assert np.all(colour[data.edges.pairs[:, 0]] != colour[data.edges.pairs[:, 1]])


@settings(deadline=None, max_examples=60)
@given(sizes, seeds)
def test_slots_hold_every_region_once_photo_by_photo_in_whole_classes(sizes: list[int], seed: int):
    data = random_graph(sizes, seed)
    layout = lay_out(data.groups, data.allowed, data.edges, PLAN)
    assert sorted(layout.rows) == list(range(len(data.groups)))
    for i in range(layout.n_photos):
        mine = layout.rows[layout.slot_start[i] : layout.slot_start[i + 1]]
        assert np.all(data.groups[mine] == i)
        first, last = layout.colour_start[i], layout.colour_start[i + 1]
        if len(mine):
            assert layout.class_start[first] == layout.slot_start[i]
            assert layout.class_start[last] == layout.slot_start[i + 1]
        else:
            assert first == last


@settings(deadline=None, max_examples=60)
@given(sizes, seeds)
def test_edges_are_kept_both_ways_with_their_weights(sizes: list[int], seed: int):
    data = random_graph(sizes, seed)
    layout = lay_out(data.groups, data.allowed, data.edges, PLAN)
    there = {(int(a), int(b), float(w)) for (a, b), w in zip(*data.edges, strict=True)}
    assert edges_of(layout) == there | {(b, a, w) for a, b, w in there}


@settings(deadline=None, max_examples=60)
@given(sizes, seeds)
def test_flat_and_dense_are_the_same_and_forbidden_factors_are_not_stored(sizes: list[int], seed: int):
    data = random_graph(sizes, seed)
    layout = lay_out(data.groups, data.allowed, data.edges, PLAN)
    n, allowed = len(data.groups), data.allowed[data.groups].astype(bool)
    nu = np.random.default_rng(seed).random((n, FACTORS.total))
    flat = flatten(layout, nu)
    assert len(flat) == layout.assign_start[-1] == allowed.sum()
    assert np.array_equal(spread(layout, flat, n), np.where(allowed, nu, -1.0))


@settings(deadline=None, max_examples=60)
@given(sizes, seeds, st.integers(1, 4))
def test_parts_hold_every_photo_once(sizes: list[int], seed: int, n_parts: int):
    data = random_graph(sizes, seed)
    parts = lay_out_parts(data.groups, data.allowed, data.edges, PLAN, n_parts)
    whole = lay_out(data.groups, data.allowed, data.edges, PLAN)
    assert len(parts) == n_parts
    assert np.array_equal(np.concatenate([part.rows for part in parts]), whole.rows)
    assert np.array_equal(np.concatenate([part.factor for part in parts]), whole.factor)
    assert set().union(*(edges_of(part) for part in parts)) == edges_of(whole)
    assert sum(part.n_photos for part in parts) == whole.n_photos


def test_a_sweep_updates_allowed_factors_in_stick_order():
    data = draw_data(np.random.default_rng(0))
    for order in ("free-first", "tagged-first"):
        plan = plan_sticks(Settings(FACTORS, stick_order=order))
        layout = lay_out(data.groups, data.allowed, data.edges, plan)
        columns = [5, 6, 0, 1, 2, 3, 4] if order == "free-first" else range(7)
        for i in range(layout.n_photos):
            mine = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
            assert list(mine) == [k for k in columns if data.allowed[i, k]]


def test_cleared_columns_are_zero_and_the_others_untouched():
    data = draw_data(np.random.default_rng(1))
    layout = lay_out(data.groups, data.allowed, data.edges, PLAN)
    n = len(data.groups)
    flat = flatten(layout, np.random.default_rng(2).uniform(0.1, 0.9, (n, FACTORS.total)))
    before, after = spread(layout, flat, n), spread(layout, clear_columns(layout, flat, FACTORS.tagged), n)
    assert np.array_equal(after[:, : FACTORS.tagged], before[:, : FACTORS.tagged])
    assert np.all(after[:, FACTORS.tagged :] == 0.0)
    assert np.all(before[:, FACTORS.tagged :] > 0.0)


def test_rows_without_a_place_are_left_out():
    data = draw_data(np.random.default_rng(3))
    layout = lay_out(data.groups, data.allowed, data.edges, PLAN)
    n = len(data.groups)
    nu = np.random.default_rng(4).random((n, FACTORS.total)) * data.allowed[data.groups]
    place = np.full(n, -1)
    place[[4, 2]] = [0, 1]
    out = np.zeros((2, FACTORS.total))
    scatter_assign(layout, flatten(layout, nu), place, out)
    assert np.array_equal(out, nu[[4, 2]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_are_summed_over_the_given_rows(dtype: type):
    X = np.random.default_rng(5).standard_normal((20, 6)).astype(dtype)
    rows = np.array([3, 7, 11])
    assert sum_squares(X, rows) == pytest.approx(np.sum(X[rows].astype(float) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("factors", "expected"),
    [(Factors(2, 1, 1), [3, 0, 1, 2]), (Factors(1, 0, 0), [0]), (Factors(0, 0, 2), [0, 1])],
)
def test_plans_hold_every_column_once(factors: Factors, expected: list[int]):
    plan: StickPlan = plan_sticks(Settings(factors))
    order: Array = plan.order
    assert list(order) == expected
    assert plan_sticks(Settings(factors, sticks="single")).n_sequences == 1
