"""Several batches behind the face of one: photos in shards, one global step for all of them."""

from collections.abc import Sequence
from functools import reduce

from tagsight.model.fit import FitBatch
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.state import Globals, Summary, merge


class MergedBatch:
    """The photos of all `parts` as one batch (see `model.fit.FitBatch`)."""

    def __init__(self, parts: Sequence[FitBatch]):
        self._parts = parts

    def summarise(self, state: Globals) -> Summary:
        """Summary of the local posterior as it is."""
        return reduce(merge, [part.summarise(state) for part in self._parts])

    def step(self, state: Globals) -> Summary:
        """Update the local posterior and summarise."""
        return reduce(merge, [part.step(state) for part in self._parts])

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """A sample of regions with the tagged factors' share taken away."""
        return merge_samples([part.sample_residuals(state, size, seed) for part in self._parts], size)

    def clear_free(self) -> None:
        """Switch every free factor off, and remember the posterior before."""
        for part in self._parts:
            part.clear_free()

    def restore(self) -> None:
        """Go back to the posterior before the last `clear_free`."""
        for part in self._parts:
            part.restore()
