"""The parts of a shard equal separately laid out shards, and contain the whole posterior."""

import numpy as np
import pytest

from tagsight.engine.local.threads import ThreadBatch
from tagsight.engine.ray.parts import cut_local, cut_shard
from tagsight.model.layout import Shard
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, start_local
from tagsight.model.state import Local, join_locals, merge
from tests.engine.training import FACTORS, draw_photos, make_shards

SETTINGS = Settings(FACTORS)
PHOTOS = draw_photos(23)


def start(n_shards: int = 1) -> list[tuple[Shard, Local]]:
    shards = make_shards(PHOTOS, SETTINGS, n_shards)
    fill = STARTS["random"](shards, FACTORS, 0)
    plan = plan_sticks(SETTINGS)
    return [(shard, start_local(shard, fill, np.ones(plan.n_sequences), plan)) for shard in shards]


@pytest.mark.parametrize("n_parts", [1, 2, 5, 23])
def test_parts_are_laid_out_as_by_themselves(n_parts: int):
    ((whole, local),) = start()
    parts = list(zip(cut_shard(whole, n_parts), cut_local(local, whole.layout, n_parts), start(n_parts), strict=True))
    assert len(parts) == n_parts
    for shard, mine, (expected, theirs) in parts:
        for name, ours in shard.layout._asdict().items():
            assert np.array_equal(ours, getattr(expected.layout, name)), name
        assert shard.square == pytest.approx(expected.square, rel=1e-12)
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a, b)


def test_parts_together_are_the_whole():
    ((whole, local),) = start()
    parts = list(zip(cut_shard(whole, 4), cut_local(local, whole.layout, 4), strict=True))
    for joined, before in zip(join_locals([mine for _, mine in parts]), local, strict=True):
        assert np.array_equal(joined, before)
    state = blank_globals(SETTINGS, PHOTOS.X.shape[1])
    total = ThreadBatch(*parts[0], SETTINGS, map).summarise(state)
    for part in parts[1:]:
        total = merge(total, ThreadBatch(*part, SETTINGS, map).summarise(state))
    for ours, theirs in zip(total, ThreadBatch(whole, local, SETTINGS, map).summarise(state), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-10)
