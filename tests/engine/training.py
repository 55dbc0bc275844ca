"""Planted photos split into shards and trained in this process."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tagsight.engine.local.threads import ThreadBatch, thread_map
from tagsight.model.fields import start_affinity
from tagsight.model.fit import Fit, FitBatch, Loop, Sweep, fit, ignore_progress
from tagsight.model.layout import Edges, Shard, lay_out_parts, scatter_assign
from tagsight.model.local_step import add_squares
from tagsight.model.planted import draw_appearance, draw_planted
from tagsight.model.settings import Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.model.state import Local
from tagsight.types import Array, Floats

FACTORS = Factors(3, 3, 2)


class Photos(NamedTuple):
    X: Floats
    tags: Array
    groups: Array
    edges: Edges

    @property
    def allowed(self) -> Array:
        return np.hstack([self.tags, np.ones((len(self.tags), FACTORS.free), np.uint8)])


class Trained(NamedTuple):
    fit: Fit
    nu: Floats  # (N, K)
    locals: list[Local]
    reported: list[Sweep]


def draw_photos(n_photos: int, *, D: int = 10, noise: float = 0.6, seed: int = 0) -> Photos:
    appearance = draw_appearance(FACTORS.total, D, seed=seed)
    planted = draw_planted(
        appearance, FACTORS.free, n_photos=n_photos, n_regions=6, noise=noise, sparsity=2.0, seed=seed
    )
    return Photos(planted.X, planted.tags, planted.groups, Edges(planted.edges, np.ones(len(planted.edges))))


def make_shards(photos: Photos, settings: Settings, n_shards: int) -> list[Shard]:
    layouts = lay_out_parts(photos.groups, photos.allowed, photos.edges, plan_sticks(settings), n_shards)
    return [Shard(photos.X, layout, add_squares(photos.X, layout, noise=settings.noise)) for layout in layouts]


def train(
    photos: Photos,
    settings: Settings,
    *,
    n_shards: int = 1,
    n_threads: int = 1,
    combine: Callable[[list[ThreadBatch]], Sequence[FitBatch]] = list,
    start: str = "tags",
    max_sweeps: int = 60,
    tol: float = 1e-7,
    on_sweep: Callable[[Sweep], None] = ignore_progress,
) -> Trained:
    plan = plan_sticks(settings)
    shards = make_shards(photos, settings, n_shards)
    fill = STARTS[start](shards, FACTORS, 0)
    reported: list[Sweep] = []

    def report(sweep: Sweep) -> None:
        reported.append(sweep)
        on_sweep(sweep)

    with thread_map(n_threads) as run:
        parts = [
            ThreadBatch(shard, start_local(shard, fill, np.ones(plan.n_sequences), plan), settings, run)
            for shard in shards
        ]
        result = fit(
            combine(parts),
            photos.X.shape[1],
            settings,
            Loop(max_sweeps, tol, report),
            affinity=start_affinity(photos.tags, settings),
            seed=0,
        )
    nu = np.zeros((len(photos.X), FACTORS.total))
    for part in parts:
        scatter_assign(part.shard.layout, part.local.assign, np.arange(len(nu)), nu)
    return Trained(result, nu, [part.local for part in parts], reported)
