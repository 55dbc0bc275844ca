"""The posterior of new photos under a trained model."""

from typing import NamedTuple

import numpy as np

from tagsight.model.layout import Shard, spread_assign
from tagsight.model.local_step import Map, local_step
from tagsight.model.photo_sticks import expect_weights
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import start_local
from tagsight.model.state import Globals, Local
from tagsight.model.visit import Visit
from tagsight.types import Array, Floats

TO_CONVERGENCE = Visit(passes=200, tol=1e-3, summarise=False)


class Inference(NamedTuple):
    """What the model says of photos."""

    assign: Array  # (N, K) posterior probabilities
    log_odds: Array  # (N, K) their logits, which tell saturated ones apart; -inf where forbidden
    prior: Floats  # (I, K) E[pi]: the photo-level weight of each factor
    appearance: Floats  # (K, D) appearance used: the trained one, or updated in transductive mode


def start_at_rates(shard: Shard, state: Globals, rates: Floats, settings: Settings) -> Local:
    """Every region of the shard at `rates` (K,), the share of training regions in which each factor is on."""

    def fill(X: Array) -> Array:
        return np.broadcast_to(rates, (len(X), len(rates)))

    return start_local(shard, fill, state.sparsity.mean, plan_sticks(settings))


def settle_photos(
    shard: Shard, local: Local, allowed: Array, state: Globals, settings: Settings, run: Map
) -> Inference:
    """Sweep the photos to convergence with the globals fixed; rows come out in the order of the features'."""
    X, layout, _ = shard
    flat_odds = np.empty_like(local.assign)
    local, _ = local_step(shard, local, state, settings, TO_CONVERGENCE, run, flat_odds)
    rows = np.arange(len(X))
    assign = np.zeros((len(X), settings.factors.total), X.dtype)
    spread_assign(layout, local.assign, rows, assign)
    log_odds = np.full_like(assign, -np.inf)
    spread_assign(layout, flat_odds, rows, log_odds)
    prior = expect_weights(local.order, local.sticks, allowed, plan_sticks(settings))
    return Inference(assign, log_odds, prior, state.appearance.mean)
