"""The fitting loop: local steps, a global step after each batch, the stop rule, proposals for the free factors.

A fit runs in stages. Each sweeps until the bound converges:

1. The first stage sweeps from the start.
2. The trials follow, one per contrast of `free_factors`. A trial begins with a proposal: appearances, found with that
   contrast, which replace those of all free factors. A trial that ends with a higher bound is accepted. Otherwise it is
   rejected, and the state before it is restored. M stays fixed, because bounds under different M cannot be compared.
3. The last stage re-estimates M again, if M is learned and a trial was accepted.

`FitProgress` records the progress after a sweep, so that a fit can stop after any sweep and resume later.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import inf
from typing import NamedTuple, Protocol

from tagsight.model.bound import Bound, evaluate_bound
from tagsight.model.free_factors import CONTRASTS, ICA_SAMPLE, propose_free
from tagsight.model.global_step import global_step
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.settings import Settings
from tagsight.model.start import blank_globals, first_globals
from tagsight.model.state import Globals, SummaryStatistics, merge, remove
from tagsight.types import Floats


class Batch(Protocol):
    """Photos with their features and local posterior; the engine decides where these are stored."""

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary of the current local posterior."""
        ...

    def step(self, state: Globals) -> SummaryStatistics:
        """Update the local posterior and return its summary."""
        ...


class FitBatch(Batch, Protocol):
    """A batch that supports trials."""

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """Return a sample of regions minus the contribution of the tagged factors."""
        ...

    def clear_free(self) -> None:
        """Set nu of every free factor to 0, and keep the previous posterior for `restore`."""
        ...

    def restore(self) -> None:
        """Return to the posterior before the last `clear_free`."""
        ...


class Sweep(NamedTuple):
    """Report of one sweep."""

    number: int
    bound: Bound


class Fit(NamedTuple):
    """Result of a fit."""

    state: Globals
    summary: SummaryStatistics
    sweeps: tuple[Sweep, ...]  # without those of rejected trials
    n_run: int  # all sweeps run
    converged: bool

    @property
    def bound(self) -> float:
        """The bound after the last sweep."""
        return self.sweeps[-1].bound.total


FIRST, LAST = 0, len(CONTRASTS) + 1  # stages; the trials are between them


class FitProgress(NamedTuple):
    """Progress of a fit after a sweep; with the batches' local posteriors, all that is needed to resume it."""

    stage: int
    state: Globals
    summaries: tuple[SummaryStatistics, ...]  # the last summary of each batch
    sweeps: tuple[Sweep, ...]  # of this stage
    n_run: int  # all sweeps run
    best: Fit | None = None  # of the earlier stages
    first_bound: float = -inf  # at the end of the first stage

    @property
    def on_trial(self) -> bool:
        """Whether the batches may have to restore their previous posterior."""
        return FIRST < self.stage < LAST


def ignore_progress(progress: Sweep | FitProgress) -> None:
    """Do nothing: the default callback of `Loop`."""


class Loop(NamedTuple):
    """The stop rule, and callbacks after every sweep."""

    max_sweeps: int
    tol: float  # relative change of the bound
    on_sweep: Callable[[Sweep], None] = ignore_progress
    on_progress: Callable[[FitProgress], None] = ignore_progress


def fit(
    batches: Sequence[FitBatch],
    D: int,
    settings: Settings,
    loop: Loop,
    *,
    affinity: Floats,
    seed: int,
    progress: FitProgress | None = None,
) -> Fit:
    """Run all stages of a fit.

    With several batches this is memoised variational inference (Hughes and Sudderth, 2013): the summary of
    each batch is stored and replaced after its next local step, so the bound is exact and needs no learning rate.
    With `progress`, the fit resumes from there; the batches must hold the local posteriors saved with it.
    """
    at = progress or _start_progress(batches, D, settings, affinity)
    while True:
        stage_settings = settings._replace(learn_affinity=settings.learn_affinity and not at.on_trial)
        stage_loop = loop._replace(on_progress=partial(_report_progress, loop, at))
        result = run_sweeps(
            batches, at.summaries, at.state, stage_settings, stage_loop, n_run=at.n_run, sweeps=at.sweeps
        )
        best = _accept_stage(batches, at, result)
        next_stage = _start_next_stage(batches, at, best, settings, loop, seed)
        if next_stage is None:
            return best
        at = next_stage


def has_converged(sweeps: Sequence[Sweep], tol: float) -> bool:
    """Return whether the last two bounds differ by at most `tol` relative to the last."""
    if len(sweeps) < 2:
        return False
    before, last = sweeps[-2].bound.total, sweeps[-1].bound.total
    return abs(last - before) <= tol * abs(last)


def run_sweeps(
    batches: Sequence[Batch],
    summaries: Sequence[SummaryStatistics],
    state: Globals,
    settings: Settings,
    loop: Loop,
    *,
    n_run: int,
    sweeps: tuple[Sweep, ...] = (),
) -> Fit:
    """Sweep until the bound converges or `loop.max_sweeps` is reached.

    `summaries` are those of the batches, `n_run` counts the sweeps run before, and `sweeps` are the last of them.
    """
    summaries = list(summaries)
    total = reduce(merge, summaries)
    while n_run < loop.max_sweeps and not has_converged(sweeps, loop.tol):
        for b, batch in enumerate(batches):
            fresh = batch.step(state)
            total = merge(remove(total, summaries[b]), fresh)
            summaries[b] = fresh
            last = b == len(batches) - 1
            if last:
                total = reduce(merge, summaries)  # free of the rounding errors of `remove`
            all_updated = last or n_run > 0  # before that, M is not learned: some summaries are of the start
            state = global_step(total, state, settings if all_updated else settings._replace(learn_affinity=False))
        n_run += 1
        sweeps = (*sweeps, Sweep(n_run, evaluate_bound(total, state, settings)))
        loop.on_sweep(sweeps[-1])
        loop.on_progress(FitProgress(FIRST, state, tuple(summaries), sweeps, n_run))
    return Fit(state, total, sweeps, n_run, has_converged(sweeps, loop.tol))


def _start_progress(batches: Sequence[Batch], D: int, settings: Settings, affinity: Floats) -> FitProgress:
    blank = blank_globals(settings, D)
    summaries = tuple(batch.summarise(blank) for batch in batches)
    state = first_globals(reduce(merge, summaries), blank, settings, affinity)
    return FitProgress(FIRST, state, summaries, (), 0)


def _report_progress(loop: Loop, at: FitProgress, progress: FitProgress) -> None:
    """Report the progress of `run_sweeps` within the stage of `at`."""
    loop.on_progress(progress._replace(stage=at.stage, best=at.best, first_bound=at.first_bound))


def _accept_stage(batches: Sequence[FitBatch], at: FitProgress, result: Fit) -> Fit:
    """Return the best fit after the stage of `at`, which ended with `result`; restore the batches after a rejection."""
    if at.best is None:
        return result
    if not at.on_trial:
        return result._replace(sweeps=at.best.sweeps + result.sweeps)
    if result.bound > at.best.bound:
        higher = tuple(sweep for sweep in result.sweeps if sweep.bound.total > at.best.bound)
        return result._replace(sweeps=at.best.sweeps + higher)
    for batch in batches:
        batch.restore()
    return at.best._replace(n_run=result.n_run)


def _start_next_stage(
    batches: Sequence[FitBatch], at: FitProgress, best: Fit, settings: Settings, loop: Loop, seed: int
) -> FitProgress | None:
    """Return the start of the stage after `at`; None if the fit is finished."""
    first_bound = best.bound if at.stage == FIRST else at.first_bound
    stage, state = at.stage + 1, best.state
    if stage > LAST or settings.factors.free == 0 or settings.exclusive or best.n_run >= loop.max_sweeps:
        return None
    if stage < LAST:
        sample = merge_samples([batch.sample_residuals(state, ICA_SAMPLE, seed) for batch in batches], ICA_SAMPLE)
        state = propose_free(sample.rows, state, settings.factors, CONTRASTS[stage - 1], seed)
        for batch in batches:
            batch.clear_free()
    elif not settings.learn_affinity or best.bound <= first_bound:
        return None
    summaries = tuple(batch.summarise(state) for batch in batches)
    return FitProgress(stage, state, summaries, (), best.n_run, best, first_bound)
