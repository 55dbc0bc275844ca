"""Summaries are sums over regions: literal ones, and of two halves the whole."""

import numpy as np
import pytest

from tagsight.model.layout import Shard, lay_out_parts, sum_squares
from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.state import Local, SummaryStatistics, accumulate, empty_summary, merge, remove
from tests import oracles
from tests.model.cases import ONLY_SUMMARISE, Case, dense, draw_case, draw_data, flatten, for_oracle, summarise


def assert_same(a: SummaryStatistics, b: SummaryStatistics) -> None:
    for name, x, y in zip(SummaryStatistics._fields, a, b, strict=True):
        assert x == pytest.approx(y, rel=1e-10, abs=1e-10), name


def halves_of(case: Case, options: SweepOptions) -> list[SummaryStatistics]:
    nu, photos, parts = dense(case), 0, []
    for layout in lay_out_parts(case.data.groups, case.data.allowed, case.data.edges, case.plan, 2):
        own = slice(photos, photos + layout.n_photos)
        photos += layout.n_photos
        shard = Shard(case.data.X, layout, sum_squares(case.data.X, layout.rows))
        local = Local(flatten(layout, nu), case.local.sticks[own], case.local.order[own])
        parts.append(local_step(shard, local, case.state, case.settings, options)[1])
    return parts


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_two_halves_add_to_the_whole(passes: int):
    case = draw_case(1, coupling=0.8, affinity=1.2)
    whole = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=passes))[1]
    assert_same(merge(*halves_of(case, SweepOptions(passes=passes))), whole)


def test_remove_undoes_merge_and_accumulate_is_merge_in_place():
    first, second = halves_of(draw_case(2), ONLY_SUMMARISE)
    both = merge(first, second)
    assert_same(remove(both, second), first)
    K, D = first.cross.shape
    blank = empty_summary(K, D, len(first.n_sticks))
    assert_same(merge(blank, first), first)
    total = accumulate(accumulate(blank, first), second)
    assert_same(total, both)
    assert total.cross is blank.cross


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_entries_are_the_literal_sums(seed: int, shuffled: bool):
    data = draw_data(np.random.default_rng(seed), shuffled=shuffled)
    case = draw_case(seed, data, coupling=0.8, affinity=1.2)
    p, summary = for_oracle(case), summarise(case)
    K, D = p.phi.shape
    count, pair, cross = np.zeros(K), np.zeros((K, K)), np.zeros((K, D))
    for x, nu in zip(p.X, p.nu, strict=True):
        for k in range(K):
            count[k] += nu[k]
            cross[k] += nu[k] * x
            for m in range(K):
                pair[k, m] += nu[k] if k == m else nu[k] * nu[m]
    assert summary.n_regions == len(p.X)
    assert summary.square == pytest.approx(np.sum(p.X**2))
    assert summary.count == pytest.approx(count)
    assert summary.pair == pytest.approx(pair)
    assert summary.cross == pytest.approx(cross)
    by_photo = [p.nu[p.photo == i] for i in range(len(p.L))]
    assert summary.photo_pair == pytest.approx(sum(np.outer(nu.sum(axis=0), nu.mean(axis=0)) for nu in by_photo))
    by_sequence = [[columns[s] for columns in p.sequences] for s in range(len(p.alpha))]
    for s, photos in enumerate(by_sequence):
        assert summary.n_sticks[s] == sum(len(columns) for columns in photos)
        logs = sum(oracles.expect_log_v(p.tau[i, columns]).sum() for i, columns in enumerate(photos))
        assert summary.log_sticks[s] == pytest.approx(logs)
    same = [
        w * np.sum(np.where(p.L[p.photo[a]], p.nu[a] * p.nu[b] + (1 - p.nu[a]) * (1 - p.nu[b]), 0))
        for a, b, w in p.edges
    ]
    assert summary.agreement == pytest.approx(sum(same))


def test_counts_alone_are_those_of_the_full_summary():
    case = draw_case(4)
    options = SweepOptions(passes=2, summarise=False)
    local, brief = local_step(case.shard, case.local, case.state, case.settings, options)
    assert brief.count == pytest.approx(summarise(case._replace(local=local)).count)
