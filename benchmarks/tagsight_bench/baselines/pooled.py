"""What the rivals share: region vectors of comparable scale, and their averages over photos and boxes.

A region's vector is standardised and projected (`codebook.learn_standard_projection`). The map is affine, so a linear
score of a photo is the average of the scores of its regions.
"""

from collections.abc import Sequence

import numpy as np

from tagsight.classifiers.bags import Bags
from tagsight.errors import InputError
from tagsight.features.codebook import Projection, learn_standard_projection, project
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats

LENGTH = 256  # of a projected vector
SAMPLE = 20_000  # regions the projection is learned from


def learn_space(photos: Sequence[PhotoFeatures], *, seed: int, length: int = LENGTH) -> Projection:
    """The map x -> u, learned from a seeded sample of regions, evenly from all photos."""
    if not photos:
        raise InputError("there are no photos to learn from; give at least one")
    rng = np.random.default_rng(seed)
    part = min(1.0, SAMPLE / sum(len(photo.features) for photo in photos))
    sample = np.concatenate([photo.features[rng.random(len(photo.features)) < part] for photo in photos])
    return learn_standard_projection(sample, length)


def stack_bags(photos: Sequence[PhotoFeatures], space: Projection) -> Bags:
    """Project and stack the regions of photos."""
    shares = [photo.area for photo in photos]
    return Bags(
        np.concatenate([project(photo.features.astype(np.float32), space) for photo in photos]),
        np.concatenate(shares).astype(np.float32),
        np.concatenate([[0], np.cumsum([len(share) for share in shares])]),
    )


def weigh_boxes(photo: PhotoFeatures, boxes: Array) -> Floats:
    """(B, R) share of each region in each box x0, y0, x1, y1 of the whole photo, the end exclusive.

    A box is widened to whole pixels of the label map, so that even the smallest has one.
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


def pool_boxes(photo: PhotoFeatures, boxes: Array, space: Projection) -> Array:
    """(B, d) float32 area-weighted mean of the regions in each box."""
    return weigh_boxes(photo, boxes).astype(np.float32) @ project(photo.features.astype(np.float32), space)
