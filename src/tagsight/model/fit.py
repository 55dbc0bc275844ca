"""The loop: local steps, a global step after each batch, the stop rule, renewal of free factors."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple, Protocol

from tagsight.model.bound import Bound, evaluate_bound
from tagsight.model.global_step import global_step
from tagsight.model.renew import CONTRASTS, SAMPLE, Contrast, propose_free
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
    """Where training stands."""

    state: Globals
    summary: Summary
    sweeps: tuple[Sweep, ...]  # those of abandoned proposals left out
    n_run: int  # all sweeps run
    converged: bool

    @property
    def bound(self) -> float:
        """The bound after the last sweep."""
        return self.sweeps[-1].bound.total


def tell_nobody(sweep: Sweep) -> None:
    """For when no one asked to be told."""


class Loop(NamedTuple):
    """How long to sweep, and who is told."""

    max_sweeps: int
    tol: float
    on_sweep: Callable[[Sweep], None] = tell_nobody


def fit(
    batches: Sequence[RenewableBatch], D: int, settings: Settings, loop: Loop, *, affinity: Floats, seed: int
) -> Fit:
    """Sweep until the bound settles; then try to renew the free factors, and sweep on if that helped.

    With several batches this is memoised variational inference (Hughes and Sudderth, 2013): the summary of
    each batch is kept and replaced at its next visit, so the bound is exact and needs no learning rate.
    """
    blank = blank_globals(settings, D)
    memo = [batch.summarise(blank) for batch in batches]
    state = first_globals(reduce(merge, memo), blank, settings, affinity)
    first = settle(batches, memo, state, settings, loop, n_run=0)
    if settings.factors.free == 0:
        return first
    best = first
    frozen = settings._replace(learn_affinity=False)  # bounds under different M cannot be compared
    for contrast in CONTRASTS:
        best = _renew(batches, best, frozen, loop, contrast, seed)
    if settings.learn_affinity and best.bound > first.bound:
        memo = [batch.summarise(best.state) for batch in batches]
        on = settle(batches, memo, best.state, settings, loop, n_run=best.n_run)
        best = on._replace(sweeps=best.sweeps + on.sweeps) if on.sweeps else best
    return best


def has_settled(sweeps: Sequence[Sweep], tol: float) -> bool:
    """Whether the last two bounds differ by at most `tol` relative to their size."""
    if len(sweeps) < 2:
        return False
    before, last = sweeps[-2].bound.total, sweeps[-1].bound.total
    return abs(last - before) <= tol * abs(last)


def settle(
    batches: Sequence[Batch],
    memo: list[Summary],
    state: Globals,
    settings: Settings,
    loop: Loop,
    *,
    n_run: int,
) -> Fit:
    """Sweep until the bound settles or the limit is reached, `n_run` sweeps of which are spent."""
    total = reduce(merge, memo)
    sweeps: list[Sweep] = []
    while n_run < loop.max_sweeps and not has_settled(sweeps, loop.tol):
        for b, batch in enumerate(batches):
            fresh = batch.step(state)
            total = merge(remove(total, memo[b]), fresh)
            memo[b] = fresh
            if b == len(batches) - 1:
                total = reduce(merge, memo)  # removing leaves rounding behind
            state = global_step(total, state, settings)
        n_run += 1
        sweeps.append(Sweep(n_run, evaluate_bound(total, state, settings)))
        loop.on_sweep(sweeps[-1])
    return Fit(state, total, tuple(sweeps), n_run, has_settled(sweeps, loop.tol))


def _renew(
    batches: Sequence[RenewableBatch], fit: Fit, settings: Settings, loop: Loop, contrast: Contrast, seed: int
) -> Fit:
    """The fit that continues from renewed free factors if its bound is higher, else `fit`."""
    if fit.n_run >= loop.max_sweeps:
        return fit
    samples = [batch.sample_residuals(fit.state, SAMPLE, seed) for batch in batches]
    state = propose_free(merge_samples(samples, SAMPLE).rows, fit.state, settings.factors, contrast, seed)
    for batch in batches:
        batch.clear_free()
    memo = [batch.summarise(state) for batch in batches]
    trial = settle(batches, memo, state, settings, loop, n_run=fit.n_run)
    if trial.bound > fit.bound:
        higher = tuple(sweep for sweep in trial.sweeps if sweep.bound.total > fit.bound)
        return trial._replace(sweeps=fit.sweeps + higher)
    for batch in batches:
        batch.restore()
    return fit._replace(n_run=trial.n_run)
