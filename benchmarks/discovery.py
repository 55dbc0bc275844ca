"""Whether free factors find what no tag names: the tags of some classes are hidden from training.

LabelMe Outdoor without the tags of four large classes: for each, the highest IoU of a free factor with the class on the
evaluated photos. A region is on where its most probable factor of all is that free factor.

aPascal without the tags of every fourth class: for each, the highest average precision over photos of a free factor,
beside k-means clusters and independent components of the same region vectors, as many as there are free factors. The
score of a photo is the highest over its regions.

With all tags of aPascal: the share of the training regions in which each free factor is on.

    python benchmarks/discovery.py --data DIR
    python benchmarks/discovery.py --data DIR --on validation    # one half of the training photos for training
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import FastICA

from record import write_result
from tagsight.data.vocabulary import Tags
from tagsight.demo.mask_measures import VOID
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.predictor import Predictor, predict_photos
from tagsight.regions import resize_map
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.progress import Report, show_progress
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.region_vectors import fit_projection, stack_bags
from tagsight_bench.evaluation.ranking import average_precision
from tagsight_bench.plan import Request
from tagsight_bench.run import open_source
from tagsight_bench.trial import Trial, make_trial

HIDDEN_AREAS = ("sky", "sea", "road", "grass")
EVERY = 4  # one class of aPascal in so many is hidden
N_FREE = 10
BATCH = 64  # photos predicted together


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("TAGSIGHT_DATA")
    parser.add_argument("--data", type=Path, default=data, required=data is None, help="folder of the collections")
    parser.add_argument("--on", choices=("test", "validation"), default="test")
    parser.add_argument("--preset", default="ws-mrf-sibp")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    with show_progress() as report, one_blas_thread():
        labelme, apascal = (
            make_trial(
                open_source(Request(name, on=options.on), "photos", options.data, report, n_workers=None), n_attributes
            )
            for name, n_attributes in (("labelme", 0), ("apascal", 64))
        )
        rows = [measure(labelme, apascal, options.preset, seed, report) for seed in range(options.seeds)]
    write_result(f"discovery-{options.on}", {"preset": options.preset, "n_free": N_FREE, "rows": rows})


def measure(labelme: Trial, apascal: Trial, preset: str, seed: int, report: Report) -> dict[str, Any]:
    """The figures of one seed."""
    options = TrainOptions.from_preset(preset, n_free=N_FREE, seed=seed)
    area_columns = [labelme.vocabulary.objects.index(name) for name in HIDDEN_AREAS]
    hidden = range(0, len(apascal.vocabulary.objects), EVERY)
    of_areas = fit_without(labelme, area_columns, options, report)
    of_objects = fit_without(apascal, hidden, options, report)
    complete = fit_photos(apascal.train.photos, apascal.train.tags, options, report).predictor.parts.learned
    rates = complete.rates[complete.settings.factors.tagged :]
    truth = apascal.test.tags.objects[:, hidden]
    scores = {
        "free factors": score_free_factors(of_objects, apascal.test.photos),
        **score_components(apascal.train.photos, apascal.test.photos, seed),
    }
    return {
        "seed": seed,
        "iou": dict(zip(HIDDEN_AREAS, find_best_iou(of_areas, labelme, area_columns), strict=True)),
        "hidden_objects": [apascal.vocabulary.objects[column] for column in hidden],
        "average_precision": {name: find_best_precision(found, truth) for name, found in scores.items()},
        "share_on": {"largest": float(rates.max()), "median": float(np.median(rates))},
    }


def fit_without(trial: Trial, columns: Sequence[int], options: TrainOptions, report: Report) -> Predictor:
    """A predictor of training photos from which the tags of some objects are removed."""
    kept = np.delete(trial.train.tags.objects, list(columns), axis=1)
    return fit_photos(trial.train.photos, Tags(kept, trial.train.tags.attributes), options, report).predictor


def predict_free(predictor: Predictor, photos: Sequence[PhotoFeatures]) -> list[tuple[Floats, Floats]]:
    """For each photo, the probabilities of its regions: of free factors (R, K_b) and of objects (R, K_o)."""
    found: list[tuple[Floats, Floats]] = []
    for first in range(0, len(photos), BATCH):
        predictions = predict_photos(predictor, photos[first : first + BATCH])
        found += [(one.free, one.objects) for one in predictions]
    return found


def find_best_iou(predictor: Predictor, trial: Trial, columns: Sequence[int]) -> list[float]:
    """The highest IoU of a free factor with each of the hidden objects."""
    n_labels = len(trial.vocabulary.objects) + 1
    by_factor = np.zeros((N_FREE, n_labels))
    total = np.zeros(n_labels)
    for photo, mask, (free, objects) in zip(
        trial.test.photos, trial.test.masks, predict_free(predictor, trial.test.photos), strict=True
    ):
        if mask is None:
            continue
        pixels = count_labels(photo, mask, n_labels)
        chosen = np.where(free.max(axis=1) > objects.max(axis=1), free.argmax(axis=1), N_FREE)
        for factor in range(N_FREE):
            by_factor[factor] += pixels[chosen == factor].sum(axis=0)
        total += pixels.sum(axis=0)
    labels = np.asarray(columns) + 1
    both = by_factor[:, labels]
    iou = both / (by_factor.sum(axis=1, keepdims=True) + total[labels] - both)
    return iou.max(axis=0).tolist()


def count_labels(photo: PhotoFeatures, mask: Array, n_labels: int) -> Ints:
    """(R, n_labels) pixels of each region by true label, without void."""
    regions, known = resize_map(photo.labels, photo.size), mask != VOID
    counts = np.zeros((len(photo.features), n_labels), np.int64)
    np.add.at(counts, (regions[known], mask[known]), 1)
    return counts


def score_free_factors(predictor: Predictor, photos: Sequence[PhotoFeatures]) -> Floats:
    """(I, K_b) the highest probability of each free factor over the regions of each photo."""
    return np.array([free.max(axis=0) for free, _ in predict_free(predictor, photos)])


def score_components(train: Sequence[PhotoFeatures], test: Sequence[PhotoFeatures], seed: int) -> dict[str, Floats]:
    """Scores (I, n) of photos by k-means clusters and by independent components, both signs, fitted to `train`."""
    projection = fit_projection(train, seed=seed)
    rows, bags = stack_bags(train, projection).X, stack_bags(test, projection)
    centres = KMeans(N_FREE, n_init=1, random_state=seed).fit(rows).cluster_centers_
    components = FastICA(N_FREE, whiten="unit-variance", random_state=seed, max_iter=1000, tol=1e-3).fit(rows)
    near = 2.0 * bags.X @ centres.T - np.sum(centres**2, axis=1)
    strength = components.transform(bags.X)
    return {
        "k-means": np.maximum.reduceat(near, bags.first[:-1]),
        "independent components": np.maximum.reduceat(np.hstack([strength, -strength]), bags.first[:-1]),
    }


def find_best_precision(scores: Floats, truth: Array) -> dict[str, Any]:
    """The highest average precision of any column of `scores` (I, n) for each hidden object (I, H), and their mean."""
    best = [max(average_precision(score, wanted) for score in scores.T) for wanted in truth.T]
    return {"each": best, "mean": float(np.mean(best))}


if __name__ == "__main__":
    main()
