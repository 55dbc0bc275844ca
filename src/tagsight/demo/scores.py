"""Scores of a trained model on the test photos of a rendered collection, whose tags are not used."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.demo import PhotoTruth, Truth, read_classes, read_instances
from tagsight.demo.mask_measures import compute_iou, count_confusion
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.predictor import Prediction
from tagsight.predict.segment import segment_objects
from tagsight.predict.trained_model import TrainedModel
from tagsight.types import Floats, Ints


class ScoredPhoto(NamedTuple):
    """A test photo, its ground truth and its prediction."""

    truth: PhotoTruth
    photo: PhotoFeatures
    posterior: Prediction


class RenderedScores(NamedTuple):
    """The scores that the demo reports."""

    confusion: Ints  # (objects + 1, objects + 1) pixels; 0 is background
    iou: Floats  # (objects + 1,)
    association: float  # share of adjectives that are more probable for the right one of two objects
    n_associations: int
    hidden_factor: int  # the free factor that correlates most with the untagged attribute
    hidden_correlation: float

    @property
    def object_miou(self) -> float:
        """Mean IoU over objects without background."""
        return float(np.nanmean(self.iou[1:]))


def score_rendered(model: TrainedModel, folder: Path, truth: Truth, photos: list[ScoredPhoto]) -> RenderedScores:
    """Score segmentation, binding of adjectives, and discovery of the hidden attribute."""
    number = {name: place for place, name in enumerate(model.vocabulary.objects, start=1)}
    renumber = np.array([0, *(number[name] for name in truth.objects)])
    n_classes = len(number) + 1
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for photo in photos:
        real = renumber[read_classes(folder, photo.truth)]
        confusion += count_confusion(real, segment_objects(photo.photo, photo.posterior), n_classes)
    right = [verdict for photo in photos for verdict in score_binding(model, photo, truth.hidden)]
    correlation = correlate_hidden(folder, truth.hidden, photos)
    best = int(np.argmax(correlation)) if len(correlation) else -1
    return RenderedScores(
        confusion,
        compute_iou(confusion),
        float(np.mean(right)) if right else float("nan"),
        len(right),
        best,
        float(correlation[best]) if len(correlation) else float("nan"),
    )


def score_binding(model: TrainedModel, photo: ScoredPhoto, hidden: str) -> list[bool]:
    """For each adjective of exactly one of two different objects, whether it is more probable for that object."""
    if len(photo.truth.instances) != 2:
        return []
    first, second = photo.truth.instances
    if first.object == second.object:
        return []
    columns = [model.vocabulary.objects.index(instance.object) for instance in (first, second)]
    verdicts: list[bool] = []
    for word in sorted(set(first.attributes) ^ set(second.attributes)):
        if word != hidden:
            a = model.vocabulary.attributes.index(word)
            mine, other = columns if word in first.attributes else columns[::-1]
            verdicts.append(
                bool(photo.posterior.attributes_by_object[mine, a] > photo.posterior.attributes_by_object[other, a])
            )
    return verdicts


def correlate_hidden(folder: Path, hidden: str, photos: list[ScoredPhoto]) -> Floats:
    """(K_b,) correlation, over objects, of each free factor's mean in the object's regions with the hidden attribute.

    A region belongs to the object that covers more than half of it; objects without such a region are left out.
    """
    level: list[Floats] = []
    has_it: list[bool] = []
    for photo in photos:
        pixels = read_instances(folder, photo.truth)
        labels = photo.photo.labels.ravel()
        for rank, instance in enumerate(photo.truth.instances, start=1):
            share = np.bincount(labels, (pixels == rank).ravel()) / np.bincount(labels)
            mine = np.where(share > 0.5, photo.photo.area, 0.0)
            if mine.any():
                level.append(mine @ photo.posterior.free / mine.sum())
                has_it.append(hidden in instance.attributes)
    free, real = np.array(level), np.array(has_it, np.float64)
    scale = free.std(axis=0) * real.std()
    covariance = ((free - free.mean(axis=0)) * (real - real.mean())[:, None]).mean(axis=0)
    return np.divide(covariance, scale, out=np.zeros(int(free.shape[1])), where=scale > 1e-9)
