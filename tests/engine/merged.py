"""Several batches as one batch: photos in shards, with one global step for all of them."""

from collections.abc import Sequence
from functools import reduce

from tagsight.model.fit import FitBatch
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.state import Globals, SummaryStatistics, merge


class MergedBatch:
    """The photos of all `parts` as one batch (see `model.fit.FitBatch`)."""

    def __init__(self, parts: Sequence[FitBatch]):
        self._parts = parts

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary of the current local posterior."""
        return reduce(merge, [part.summarise(state) for part in self._parts])

    def step(self, state: Globals) -> SummaryStatistics:
        """Update the local posterior and return its summary."""
        return reduce(merge, [part.step(state) for part in self._parts])

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """Return a sample of regions minus the contribution of the tagged factors."""
        return merge_samples([part.sample_residuals(state, size, seed) for part in self._parts], size)

    def clear_free(self) -> None:
        """Set nu of every free factor to 0, and keep the previous posterior for `restore`."""
        for part in self._parts:
            part.clear_free()

    def restore(self) -> None:
        """Return to the posterior before the last `clear_free`."""
        for part in self._parts:
            part.restore()
