"""The loop: local steps, a global step after each batch, the stop rule, renewal of free factors.

A fit is a row of stages: the first sweeps; for each contrast, a trial of renewed free factors; and, where a trial was
kept, sweeps in which M moves again. Where a fit stands is a `Position`: it can stop after any sweep and go on later.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import inf
from typing import NamedTuple, Protocol

from tagsight.model.bound import Bound, evaluate_bound
from tagsight.model.global_step import global_step
from tagsight.model.renew import CONTRASTS, SAMPLE, propose_free
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.settings import Settings
from tagsight.model.start import blank_globals, first_globals
from tagsight.model.state import Globals, Summary, merge, remove
from tagsight.types import Floats


class Batch(Protocol):
    """Photos whose features and local posterior live wherever the engine keeps them."""

    def summarise(self, state: Globals) -> Summary:
        """Summary of the local posterior as it is."""
        ...

    def step(self, state: Globals) -> Summary:
        """Update the local posterior and summarise."""
        ...


class RenewableBatch(Batch, Protocol):
    """A batch whose free factors can be drawn anew."""

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """A sample of regions with the tagged factors' share taken away."""
        ...

    def clear_free(self) -> None:
        """Switch every free factor off, and remember the posterior before."""
        ...

    def restore(self) -> None:
        """Go back to the posterior before the last `clear_free`."""
        ...


class Sweep(NamedTuple):
    """What is reported of one sweep."""

    number: int
    bound: Bound


class Fit(NamedTuple):
    """What training gave."""

    state: Globals
    summary: Summary
    sweeps: tuple[Sweep, ...]  # those of abandoned proposals left out
    n_run: int  # all sweeps run
    converged: bool

    @property
    def bound(self) -> float:
        """The bound after the last sweep."""
        return self.sweeps[-1].bound.total


FIRST, LAST = 0, len(CONTRASTS) + 1  # stages; those between are trials, one a contrast


class Position(NamedTuple):
    """Where a fit stands after a sweep: with the batches' local posteriors, all that is needed to go on."""

    stage: int
    state: Globals
    memo: tuple[Summary, ...]  # the last summary of each batch
    sweeps: tuple[Sweep, ...]  # of this stage
    n_run: int  # all sweeps run
    best: Fit | None = None  # of the stages before
    first_bound: float = -inf  # that the first stage ended at

    @property
    def on_trial(self) -> bool:
        """Whether the batches may have to be restored."""
        return FIRST < self.stage < LAST


def ignore_progress(news: Sweep | Position) -> None:
    """For when no one asked to be told."""


class Loop(NamedTuple):
    """How long to sweep; who is told of each sweep, and of where the fit stands after it."""

    max_sweeps: int
    tol: float
    on_sweep: Callable[[Sweep], None] = ignore_progress
    on_position: Callable[[Position], None] = ignore_progress


def fit(
    batches: Sequence[RenewableBatch],
    D: int,
    settings: Settings,
    loop: Loop,
    *,
    affinity: Floats,
    seed: int,
    position: Position | None = None,
) -> Fit:
    """Sweep until the bound settles; then try to renew the free factors, and sweep on if that helped.

    With several batches this is memoised variational inference (Hughes and Sudderth, 2013): the summary of
    each batch is kept and replaced at its next visit, so the bound is exact and needs no learning rate.
    Batches that hold the local posteriors of a `position` go on from there.
    """
    at = position or _begin(batches, D, settings, affinity)
    while True:
        best = _judge(batches, at, _settle_stage(batches, at, settings, loop))
        following = _open_next(batches, at, best, settings, loop, seed)
        if following is None:
            return best
        at = following


def has_settled(sweeps: Sequence[Sweep], tol: float) -> bool:
    """Whether the last two bounds differ by at most `tol` relative to their size."""
    if len(sweeps) < 2:
        return False
    before, last = sweeps[-2].bound.total, sweeps[-1].bound.total
    return abs(last - before) <= tol * abs(last)


def settle(
    batches: Sequence[Batch],
    memo: Sequence[Summary],
    state: Globals,
    settings: Settings,
    loop: Loop,
    *,
    n_run: int,
    sweeps: tuple[Sweep, ...] = (),
) -> Fit:
    """Sweep until the bound settles or the limit is reached; `n_run` sweeps are spent, the last of them `sweeps`."""
    memo = list(memo)
    total = reduce(merge, memo)
    while n_run < loop.max_sweeps and not has_settled(sweeps, loop.tol):
        for b, batch in enumerate(batches):
            fresh = batch.step(state)
            total = merge(remove(total, memo[b]), fresh)
            memo[b] = fresh
            last = b == len(batches) - 1
            if last:
                total = reduce(merge, memo)  # removing leaves rounding behind
            seen_all = last or n_run > 0  # M is not learned from photos no sweep has visited
            state = global_step(total, state, settings if seen_all else settings._replace(learn_affinity=False))
        n_run += 1
        sweeps = (*sweeps, Sweep(n_run, evaluate_bound(total, state, settings)))
        loop.on_sweep(sweeps[-1])
        loop.on_position(Position(FIRST, state, tuple(memo), sweeps, n_run))
    return Fit(state, total, sweeps, n_run, has_settled(sweeps, loop.tol))


def _begin(batches: Sequence[Batch], D: int, settings: Settings, affinity: Floats) -> Position:
    blank = blank_globals(settings, D)
    memo = tuple(batch.summarise(blank) for batch in batches)
    return Position(FIRST, first_globals(reduce(merge, memo), blank, settings, affinity), memo, (), 0)


def _settle_stage(batches: Sequence[Batch], at: Position, settings: Settings, loop: Loop) -> Fit:
    """What the stage ends at, whether it has just begun or not."""

    def place(reached: Position) -> None:
        loop.on_position(reached._replace(stage=at.stage, best=at.best, first_bound=at.first_bound))

    if at.on_trial:
        settings = settings._replace(learn_affinity=False)  # bounds under different M cannot be compared
    within = loop._replace(on_position=place)
    return settle(batches, at.memo, at.state, settings, within, n_run=at.n_run, sweeps=at.sweeps)


def _judge(batches: Sequence[RenewableBatch], at: Position, ended: Fit) -> Fit:
    """The best fit after the stage at which `ended` was reached; a trial must have raised the bound."""
    if at.best is None:
        return ended
    if not at.on_trial:
        return ended._replace(sweeps=at.best.sweeps + ended.sweeps)
    if ended.bound > at.best.bound:
        higher = tuple(sweep for sweep in ended.sweeps if sweep.bound.total > at.best.bound)
        return ended._replace(sweeps=at.best.sweeps + higher)
    for batch in batches:
        batch.restore()
    return at.best._replace(n_run=ended.n_run)


def _open_next(
    batches: Sequence[RenewableBatch], at: Position, best: Fit, settings: Settings, loop: Loop, seed: int
) -> Position | None:
    """Where the stage after `at` begins, if there is one."""
    first_bound = best.bound if at.stage == FIRST else at.first_bound
    stage, state = at.stage + 1, best.state
    if stage > LAST or settings.factors.free == 0 or settings.exclusive or best.n_run >= loop.max_sweeps:
        return None
    if stage < LAST:
        sample = merge_samples([batch.sample_residuals(state, SAMPLE, seed) for batch in batches], SAMPLE)
        state = propose_free(sample.rows, state, settings.factors, CONTRASTS[stage - 1], seed)
        for batch in batches:
            batch.clear_free()
    elif not settings.learn_affinity or best.bound <= first_bound:
        return None
    memo = tuple(batch.summarise(state) for batch in batches)
    return Position(stage, state, memo, (), best.n_run, best, first_bound)
