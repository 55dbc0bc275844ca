"""The order of photos, and of regions where no field joins them, changes only the order of the answer."""

from typing import Any

import numpy as np
import pytest

from tagsight.engine.local.threads import ThreadBatch
from tagsight.model.fields import start_affinity
from tagsight.model.fit import Fit, Loop, fit
from tagsight.model.layout import Edges
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.types import Floats
from tests.model.cases import FACTORS, Data, dense, draw_case, draw_data, make_shard

LOOP = Loop(max_sweeps=40, tol=1e-7, on_sweep=lambda sweep: None)


def train(data: Data, start: str, **choices: Any) -> tuple[Fit, Floats]:
    settings = Settings(FACTORS, **choices)
    plan = plan_sticks(settings)
    shard = make_shard(data, plan)
    fill = STARTS[start]([shard], FACTORS, 0)
    batch = ThreadBatch(shard, start_local(shard, fill, np.ones(plan.n_sequences), plan), settings, map)
    M = start_affinity(data.allowed[:, : FACTORS.tagged], settings)
    result = fit([batch], data.X.shape[1], settings, LOOP, affinity=M, seed=0)
    case = draw_case(0, data, **choices)._replace(local=batch.local, shard=shard)
    return result, dense(case)


@pytest.fixture(scope="module")
def data() -> Data:
    return draw_data(np.random.default_rng(0), sizes=(6, 9, 1, 12, 8, 7, 10, 5, 11, 4), D=6, noise=0.3)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "choices", [{"coupling": 0.0}, {"coupling": 1.0}, {"coupling": 1.0, "exclusive": True, "shrinkage": 2.0}]
)
def test_photos_in_another_order(data: Data, start: str, choices: dict[str, Any]):
    permutation = np.random.default_rng(1).permutation(len(data.allowed))
    other = data._replace(groups=np.argsort(permutation)[data.groups], allowed=data.allowed[permutation])
    here, nu = train(data, start, **choices)
    there, nu_there = train(other, start, **choices)
    assert nu_there == pytest.approx(nu, abs=1e-6)
    assert there.bound == pytest.approx(here.bound, rel=1e-9)
    assert there.state.appearance.mean == pytest.approx(here.state.appearance.mean, abs=1e-6)


@pytest.mark.parametrize("start", STARTS)
def test_regions_in_another_order(data: Data, start: str):
    permutation = np.random.default_rng(2).permutation(len(data.X))
    pairs = np.argsort(permutation)[data.edges.pairs]
    other = Data(data.X[permutation], data.groups[permutation], data.allowed, Edges(pairs, data.edges.weight))
    here, nu = train(data, start, coupling=0.0)
    there, nu_there = train(other, start, coupling=0.0)
    assert nu_there == pytest.approx(nu[permutation], abs=1e-6)
    assert there.bound == pytest.approx(here.bound, rel=1e-9)
