"""A batch whose features and local posterior are stored on a GPU."""

from pathlib import Path

import torch

from tagsight.engine.cuda.local_step import cuda_local_step
from tagsight.engine.cuda.recorded_step import RecordedStep
from tagsight.engine.cuda.resident import Posterior, download_posterior, upload_photos, upload_posterior
from tagsight.engine.local.posterior_file import SavedPosterior, save_posterior
from tagsight.model.free_factors import sample_residuals
from tagsight.model.layout import Shard
from tagsight.model.sampling import Sample
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.state import Globals, Local, SummaryStatistics


class CudaBatch:
    """A shard and its local posterior on `device` (see `model.fit.FitBatch`), with features stored as `dtype`."""

    def __init__(
        self,
        shard: Shard,
        local: Local,
        settings: Settings,
        device: torch.device,
        dtype: torch.dtype,
        previous: Local | None = None,
    ):
        self.shard = shard
        self._start = local
        self._settings = settings
        self._plan = plan_sticks(settings)
        self._photos = upload_photos(shard, self._plan, device, dtype)
        self._posterior = upload_posterior(local, shard.layout, self._plan, device)
        self._previous = upload_posterior(previous, shard.layout, self._plan, device) if previous else self._posterior
        self._step = RecordedStep(self._photos, self._posterior, settings)

    @property
    def local(self) -> Local:
        """The local posterior, in this process's memory."""
        return self._download(self._posterior)

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary of the current local posterior."""
        return cuda_local_step(self._photos, self._posterior, state, self._settings, passes=0)

    def step(self, state: Globals) -> SummaryStatistics:
        """Update the local posterior and return its summary."""
        return self._step(state)

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """Return a sample of regions minus the contribution of the tagged factors."""
        assign = self._posterior.assign.cpu().numpy()
        return sample_residuals(self.shard, assign, state, self._settings.factors, size, seed)

    def clear_free(self) -> None:
        """Set nu of every free factor to 0, and keep the previous posterior for `restore`."""
        self._previous = self._posterior.copy()
        self._clear_columns(self._settings.factors.tagged)

    def restore(self) -> None:
        """Return to the posterior before the last `clear_free`."""
        for ours, before in zip(self._posterior, self._previous, strict=True):
            ours.copy_(before)

    def save(self, folder: Path, *, with_previous: bool) -> None:
        """Save the local posterior and, if `with_previous`, the one that `restore` returns to."""
        save_posterior(SavedPosterior(self.local, self._download(self._previous) if with_previous else None), folder)

    def _download(self, posterior: Posterior) -> Local:
        return download_posterior(posterior, self._start, self.shard.layout, self._plan)

    def _clear_columns(self, first: int) -> None:
        photos = self._photos
        for chunk in photos.chunks:
            inside = slice(chunk.first_photo, chunk.first_photo + chunk.n_photos + 1)
            starts = photos.factor_start[inside]
            n_regions = photos.slot_start[inside].diff().repeat_interleave(starts.diff())
            kept = photos.factor[int(starts[0]) : int(starts[-1])] < first
            low, high = (int(photos.assign_start[i]) for i in (inside.start, inside.stop - 1))
            self._posterior.assign[low:high] *= kept.repeat_interleave(n_regions)
