"""Photos that are no longer at hand: only their summary is."""

from tagsight.model.state import Globals, Summary


class FrozenBatch:
    """A batch whose local posterior stays as it was (see `model.fit.Batch`)."""

    def __init__(self, summary: Summary):
        self._summary = summary

    def summarise(self, state: Globals) -> Summary:
        """The summary."""
        return self._summary

    def step(self, state: Globals) -> Summary:
        """The summary: nothing moves."""
        return self._summary
