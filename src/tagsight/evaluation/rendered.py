"""A trained model against the truth of a rendered collection, tags unknown."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.synthetic import PhotoTruth, Truth, read_classes, read_instances
from tagsight.evaluation.masks import count_confusion, intersection_over_union
from tagsight.features.described import DescribedPhoto
from tagsight.tasks.segment import segment_objects
from tagsight.trained import RegionPosterior, TrainedModel
from tagsight.types import Floats, Ints


class Look(NamedTuple):
    """A test photo, its truth and what the model says of it."""

    truth: PhotoTruth
    photo: DescribedPhoto
    posterior: RegionPosterior


class RenderedScores(NamedTuple):
    """What the demo reports."""

    confusion: Ints  # (objects + 1, objects + 1) pixels; 0 is background
    iou: Floats  # (objects + 1,)
    association: float  # share of adjectives given to the right one of two objects
    n_associations: int
    hidden_factor: int  # the free factor that follows the attribute no tag names best
    hidden_correlation: float

    @property
    def object_miou(self) -> float:
        """Mean over objects, background aside."""
        return float(np.nanmean(self.iou[1:]))


def score_rendered(model: TrainedModel, folder: Path, truth: Truth, looks: list[Look]) -> RenderedScores:
    """Segmentation, binding of adjectives, and the discovery of the hidden attribute."""
    number = {name: place for place, name in enumerate(model.vocabulary.objects, start=1)}
    renumber = np.array([0, *(number[name] for name in truth.objects)])
    n_classes = len(number) + 1
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for look in looks:
        real = renumber[read_classes(folder, look.truth)]
        confusion += count_confusion(real, segment_objects(look.photo, look.posterior), n_classes)
    right = [verdict for look in looks for verdict in judge_binding(model, look, truth.hidden)]
    correlation = correlate_hidden(folder, truth.hidden, looks)
    best = int(np.argmax(correlation)) if len(correlation) else -1
    return RenderedScores(
        confusion,
        intersection_over_union(confusion),
        float(np.mean(right)) if right else float("nan"),
        len(right),
        best,
        float(correlation[best]) if len(correlation) else float("nan"),
    )


def judge_binding(model: TrainedModel, look: Look, hidden: str) -> list[bool]:
    """For each adjective of exactly one of two different objects: is it more probable at that one?"""
    if len(look.truth.instances) != 2:
        return []
    first, second = look.truth.instances
    if first.object == second.object:
        return []
    columns = [model.vocabulary.objects.index(instance.object) for instance in (first, second)]
    verdicts: list[bool] = []
    for word in sorted(set(first.attributes) ^ set(second.attributes)):
        if word != hidden:
            a = model.vocabulary.attributes.index(word)
            mine, other = columns if word in first.attributes else columns[::-1]
            verdicts.append(bool(look.posterior.of_objects[mine, a] > look.posterior.of_objects[other, a]))
    return verdicts


def correlate_hidden(folder: Path, hidden: str, looks: list[Look]) -> Floats:
    """(K_b,) correlation over objects of each free factor's mean in the object's regions with its having the attribute.

    A region belongs to the object that covers more than half of it; an object without such a region does not count.
    """
    level: list[Floats] = []
    has_it: list[bool] = []
    for look in looks:
        pixels = read_instances(folder, look.truth)
        labels = look.photo.labels.ravel()
        for rank, instance in enumerate(look.truth.instances, start=1):
            share = np.bincount(labels, (pixels == rank).ravel()) / np.bincount(labels)
            mine = np.where(share > 0.5, look.photo.area, 0.0)
            if mine.any():
                level.append(mine @ look.posterior.free / mine.sum())
                has_it.append(hidden in instance.attributes)
    free, real = np.array(level), np.array(has_it, np.float64)
    spread = free.std(axis=0) * real.std()
    covariance = ((free - free.mean(axis=0)) * (real - real.mean())[:, None]).mean(axis=0)
    return np.divide(covariance, spread, out=np.zeros(free.shape[1]), where=spread > 1e-9)
