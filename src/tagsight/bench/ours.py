"""Our model behind the face of the protocols."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import logit

from tagsight.baselines.pooled import weigh_boxes
from tagsight.data.vocabulary import Tags
from tagsight.evaluation.method import Seen
from tagsight.features.described import DescribedPhoto
from tagsight.fitting import FitOptions, Fitted, fit_photos
from tagsight.photo_attributes import describe_parts
from tagsight.readout import attributes as attribute_reader
from tagsight.readout.read import read_regions
from tagsight.readout.regions import Regions
from tagsight.readout.weights import Weights
from tagsight.stopping import check_stop
from tagsight.tasks.named import add_background
from tagsight.trained import RegionPosterior, embed, infer_posterior, look_at
from tagsight.types import Array, Floats

BATCH = 64  # photos looked at together


class StackedIBPMethod:
    """What `tagsight train` makes; `parameters` are of `FitOptions`.

    With `whole`, it describes an object by all of its regions; else, as the rivals do, by the one where it is clearest.
    """

    def __init__(self, *, whole: bool = True, **parameters: Any):
        self._whole = whole
        weights = Weights(**parameters.pop("weights", {}))
        self._options = FitOptions(**parameters, weights=weights)
        self._fitted: Fitted

    def fit(self, photos: Sequence[DescribedPhoto], tags: Tags, *, seed: int = 0) -> Self:
        """Learn from photos and their tags."""
        self._fitted = fit_photos(photos, tags, self._options._replace(seed=seed))
        return self

    def look(self, photos: Sequence[DescribedPhoto]) -> list[Seen]:
        """Scores for new photos."""
        seen: list[Seen] = []
        for first in range(0, len(photos), BATCH):
            check_stop()
            seen += map(self._to_seen, look_at(self._fitted, photos[first : first + BATCH]))
        return seen

    def look_within(self, photos: Sequence[DescribedPhoto], allowed: Tags) -> list[Seen]:
        """Scores for new photos that show nothing but their allowed tags."""
        seen: list[Seen] = []
        for first in range(0, len(photos), BATCH):
            check_stop()
            some = slice(first, first + BATCH)
            within = Tags(allowed.objects[some], allowed.attributes[some])
            seen += map(self._to_seen, look_at(self._fitted, photos[some], within))
        return seen

    def look_together(self, photos: Sequence[DescribedPhoto]) -> list[Seen]:
        """Scores for new photos after learning also from them."""
        return [self._to_seen(posterior) for posterior in look_at(self._fitted, photos, together=True)]

    def describe_boxes(self, photo: DescribedPhoto, boxes: Array) -> Floats:
        """(B, K_a): what the reader or the objects say of a box; else the mean of its regions."""
        shares, fitted = weigh_boxes(photo, boxes), self._fitted
        if readout := fitted.readout:
            X = embed(photo.features, fitted.views, fitted.projection)
            reading = read_regions(Regions([photo], fitted.views, X), readout)
            return attribute_reader.describe_parts(readout.attributes, X, reading.shares, shares)
        if attributes := fitted.object_attributes:
            stacked, seen = infer_posterior(fitted, [photo])
            appearance = seen.appearance[: fitted.learned.settings.factors.objects]
            described = describe_parts(attributes, fitted.attributes, appearance, stacked.X, seen.log_odds, shares)
            return _odds(described)
        (posterior,) = look_at(fitted, [photo])
        return shares @ _odds(posterior.attributes)

    def _to_seen(self, posterior: RegionPosterior) -> Seen:
        return Seen(
            _odds(posterior.photo),
            _odds(posterior.objects),
            _odds(posterior.attributes),
            add_background(posterior.objects),
            _odds(posterior.of_objects) if self._whole else None,
        )


def _odds(probability: Floats) -> Floats:
    return logit(np.clip(probability, 1e-300, 1 - 1e-12))  # finite, as the protocols ask
