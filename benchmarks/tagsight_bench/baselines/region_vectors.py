"""Inputs of the baselines: region vectors, their means over photos and boxes, and region labels from masks.

A region's vector is standardised and projected (`codebook.learn_standard_projection`). The map is affine, so a linear
score of a photo is the mean of the scores of its regions.
"""

from collections.abc import Sequence

import numpy as np

from tagsight.classifiers.bags import Bags
from tagsight.demo.mask_measures import VOID
from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Projection, learn_standard_projection, project
from tagsight.regions import resize_map
from tagsight.types import Array, Floats, Ints
from tagsight_bench.evaluation.mask_measures import mean_iou

LENGTH = 256  # of a projected vector
SAMPLE = 20_000  # regions the projection is learned from


def fit_projection(photos: Sequence[PhotoFeatures], *, seed: int, length: int = LENGTH) -> Projection:
    """The projection of feature vectors to `length` numbers, fitted to a random sample of all regions."""
    if not photos:
        raise InputError("cannot fit to an empty list of photos; give at least one")
    rng = np.random.default_rng(seed)
    part = min(1.0, SAMPLE / sum(len(photo.features) for photo in photos))
    sample = np.concatenate([photo.features[rng.random(len(photo.features)) < part] for photo in photos])
    return learn_standard_projection(sample, length)


def stack_bags(photos: Sequence[PhotoFeatures], projection: Projection) -> Bags:
    """The projected regions of photos as bags."""
    shares = [photo.area for photo in photos]
    return Bags(
        np.concatenate([project(photo.features.astype(np.float32), projection) for photo in photos]),
        np.concatenate(shares).astype(np.float32),
        np.concatenate([[0], np.cumsum([len(share) for share in shares])]),
    )


def compute_box_shares(photo: PhotoFeatures, boxes: Array) -> Floats:
    """(B, R) share of each region in each box x0, y0, x1, y1 of the full-size photo, the end exclusive.

    Boxes are rounded outwards to pixels of the label map, so that the smallest box covers at least one.
    """
    height, width = photo.labels.shape
    n_regions = len(photo.features)
    scale = np.array([width / photo.size[0], height / photo.size[1]])
    shares = np.zeros((len(boxes), n_regions))
    for share, box in zip(shares, np.asarray(boxes, np.float64).reshape(-1, 4), strict=True):
        x0, y0 = np.clip(np.floor(box[:2] * scale), 0, [width - 1, height - 1]).astype(int)
        x1, y1 = np.maximum(np.ceil(box[2:] * scale).astype(int), [x0 + 1, y0 + 1])
        inside = photo.labels[y0:y1, x0:x1]
        share[:] = np.bincount(inside.ravel(), minlength=n_regions) / inside.size
    return shares


def pool_boxes(photo: PhotoFeatures, boxes: Array, projection: Projection) -> Array:
    """(B, d) float32 area-weighted mean of the regions in each box."""
    return compute_box_shares(photo, boxes).astype(np.float32) @ project(photo.features.astype(np.float32), projection)


def label_regions(photo: PhotoFeatures, mask: Array, n_labels: int) -> Ints:
    """(R,) the most frequent label of each region's pixels; VOID where no pixel is labelled."""
    regions = resize_map(photo.labels, photo.size)
    known = mask != VOID
    counts = np.zeros((len(photo.features), n_labels), np.int64)
    np.add.at(counts, (regions[known], mask[known]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), VOID)


def compute_region_miou(truth: Ints, predicted: Ints, area: Floats, n_labels: int) -> float:
    """Mean IoU of predicted labels (N,) with regions weighted by `area` (N,)."""
    confusion = np.zeros((n_labels, n_labels))
    np.add.at(confusion, (truth, predicted), area)
    return mean_iou(confusion)
