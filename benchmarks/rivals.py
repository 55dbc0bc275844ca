"""The rivals on halves of the training photos: a check while developing, never the test photos.

aPascal's segmentation training photos are halved by a seeded permutation for mIoU, and its training photos for
describing boxes (GL), the named object (GN), free annotation (AP@t) and the object tags of photos.

    python benchmarks/rivals.py --data ../shared/data
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from record import write_result

from tagsight.baselines.activation import ClassActivation
from tagsight.baselines.miml import MimlBoost
from tagsight.baselines.ssvm import BoxSVM
from tagsight.baselines.supervised import MaskClassifier
from tagsight.baselines.wlda import WeakLDA
from tagsight.baselines.wsdc import DualClustering
from tagsight.baselines.wsvm import PhotoSVM
from tagsight.data.photo import read_photo
from tagsight.data.readers import open_collection
from tagsight.data.readers.apascal import mask_path, read_instances
from tagsight.data.vocabulary import tag_matrix
from tagsight.evaluation.free_annotation import score_free_annotation
from tagsight.evaluation.given_location import score_given_location
from tagsight.evaluation.given_name import score_given_name
from tagsight.evaluation.masks import count_confusion, intersection_over_union
from tagsight.evaluation.method import Method, Seen, Tags
from tagsight.evaluation.ranking import average_precision, mean_defined, measure_columns
from tagsight.evaluation.segmentation import confuse_labels
from tagsight.evaluation.truth import Instances
from tagsight.features.described import DescribedPhoto
from tagsight.features.describer import Recipe
from tagsight.features.extract import extract
from tagsight.tasks.segment import refine_probabilities
from tagsight.types import Array

WEAK: dict[str, Any] = {
    "w-SVM": PhotoSVM,
    "MIML": MimlBoost,
    "w-LDA": WeakLDA,
    "WSDC": DualClustering,
    "class activation": ClassActivation,
}


class Half(NamedTuple):
    """Photos with all that is known of them."""

    paths: list[Path]
    photos: list[DescribedPhoto]
    tags: Tags
    instances: list[Instances]


def read_halves(data: Path, split: str, seed: int) -> tuple[Half, Half]:
    collection = open_collection(data / "apascal", format="apascal", split=split)
    words = collection.vocabulary
    extraction = extract([photo.path for photo in collection.photos], Recipe("deep"))
    photos = list(extraction.load())
    tags = tag_matrix(collection.photos, words)
    found: dict[Path, list[Any]] = {photo.path: [] for photo in collection.photos}
    for instance in read_instances(data / "apascal", split=split):
        found[instance.path].append(instance)
    truth = [
        Instances(
            np.array([words.objects.index(one.name) for one in ones], np.int64),
            np.array([one.box for one in ones], np.int64).reshape(-1, 4) - [1, 1, 0, 0],
            tag_matrix(ones, words)[:, len(words.objects) :],
        )
        for ones in found.values()
    ]
    order = np.random.default_rng(seed).permutation(len(photos))
    n = len(words.objects)

    def pick(half: Array) -> Half:
        return Half(
            [collection.photos[i].path for i in half],
            [photos[i] for i in half],
            Tags(tags[half, :n], tags[half, n:]),
            [truth[i] for i in half],
        )

    return pick(order[: len(order) // 2]), pick(order[len(order) // 2 :])


def read_masks(data: Path, half: Half) -> list[Array]:
    return [np.asarray(Image.open(mask_path(data / "apascal", path))) for path in half.paths]


def average_overlap(confusion: Array) -> float:
    return round(100 * float(np.nanmean(intersection_over_union(confusion))), 1)


def judge_outlines(half: Half, seen: list[Seen], masks: list[Array]) -> float:
    n_classes = half.tags.objects.shape[1] + 1
    return average_overlap(confuse_labels(half.photos, [each.outline for each in seen], masks, n_classes))


def judge_refined(half: Half, method: MaskClassifier, masks: list[Array]) -> float:
    n_classes = half.tags.objects.shape[1] + 1
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for path, photo, mask in zip(half.paths, half.photos, masks, strict=True):
        found = refine_probabilities(photo, method.probabilities(photo), read_photo(path).pixels)
        confusion += count_confusion(mask, found, n_classes)
    return average_overlap(confusion)


def judge_words(half: Half, method: Method) -> dict[str, Any]:
    start = time.process_time()
    seen = method.look(half.photos)
    seconds = time.process_time() - start
    located = score_given_location(method, half.photos, half.instances)
    free = score_free_annotation(half.photos, seen, half.instances)
    photo = np.array([each.photo for each in seen])
    return {
        "GL_mAP": round(100 * located.mean_ap, 1),
        "GL_AUC": round(100 * located.mean_auc, 1),
        "GN_mAP": round(100 * score_given_name(seen, half.instances), 1),
        **{f"AP@{t}": round(100 * value, 1) for t, value in free.precision.items()},
        "photo_object_mAP": round(100 * mean_defined(measure_columns(average_precision, photo, half.tags.objects)), 1),
        "look_seconds_a_photo": round(seconds / len(half.photos), 4),
    }


def clock(fit: Any) -> tuple[Any, float]:
    start = time.process_time()
    method = fit()
    return method, round(time.process_time() - start, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TAGSIGHT_DATA"), help="folder that holds apascal/")
    parser.add_argument("--seed", type=int, default=0, help="of the halves and the methods (default: 0)")
    parser.add_argument("--only", help="methods whose name contains this; prints, and writes nothing")
    options = parser.parse_args()
    if options.data is None:
        parser.error("no data: give --data DIR or set TAGSIGHT_DATA to the folder that holds apascal/")
    figures: dict[str, dict[str, Any]] = {}

    def wanted(name: str) -> bool:
        return options.only is None or options.only in name

    def note(name: str, **found: Any) -> None:
        figures.setdefault(name, {}).update(found)
        print(name, found, flush=True)

    train, rest = read_halves(options.data, "segmentation-train", options.seed)
    masks, true = read_masks(options.data, rest), read_masks(options.data, train)
    for name, make in filter(lambda pair: wanted(pair[0]), WEAK.items()):
        method, seconds = clock(lambda make=make: make().fit(train.photos, train.tags, seed=options.seed))
        note(name, mIoU=judge_outlines(rest, method.look(rest.photos), masks), fit_seconds_163=seconds)
    if wanted("s-SVM"):
        boxed = BoxSVM(train.instances).fit(train.photos, train.tags, seed=options.seed)
        note("s-SVM", mIoU=judge_outlines(rest, boxed.look(rest.photos), masks))
    if wanted("supervised"):
        told, seconds = clock(lambda: MaskClassifier(true).fit(train.photos, train.tags, seed=options.seed))
        note("supervised", mIoU=judge_outlines(rest, told.look(rest.photos), masks), fit_seconds_163=seconds)
        note("supervised + dense CRF", mIoU=judge_refined(rest, told, masks))
    train, rest = read_halves(options.data, "train", options.seed)
    for name, make in filter(lambda pair: wanted(pair[0]), WEAK.items()):
        method, seconds = clock(lambda make=make: make().fit(train.photos, train.tags, seed=options.seed))
        note(name, **judge_words(rest, method), fit_seconds_1056=seconds)
    if wanted("s-SVM"):
        boxed, seconds = clock(lambda: BoxSVM(train.instances).fit(train.photos, train.tags, seed=options.seed))
        note("s-SVM", **judge_words(rest, boxed), fit_seconds_1056=seconds)
    if options.only is None:
        write_result("rivals", {"photos": "halves of the training photos", "methods": figures})


if __name__ == "__main__":
    main()
