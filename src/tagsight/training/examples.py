"""The training regions in which each factor is strongest, and pictures of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tagsight.data.photo import read_photo
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.trained_model import ExampleCrop
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Ints

PER_FACTOR = 6
SIDE = 128  # pixels of a picture
MARGIN = 0.25  # of the region's bounding box, kept around it
OUTLINE = (255, 214, 0)


class TopRegion(NamedTuple):
    """A region of a training photo in which a factor is strong."""

    photo: int
    region: int  # number within the photo
    score: float  # log-odds


TopRegions = tuple[tuple[TopRegion, ...], ...]  # of each factor, strongest first


def find_top_regions(log_odds: Array, groups: Ints, first_photo: int = 0) -> TopRegions:
    """The strongest regions of each factor, at most one per photo.

    `log_odds` (N, K) and `groups` (N,) are of consecutive photos, the first of which has the number `first_photo`.
    """
    starts = np.searchsorted(groups, np.arange(int(groups.max(initial=-1)) + 1))
    return tuple(_rank_regions(log_odds[:, k], groups, starts, first_photo) for k in range(log_odds.shape[1]))


def merge_top_regions(batches: Sequence[TopRegions]) -> TopRegions:
    """The strongest regions of all batches, which are given in the order of their photos."""
    joined = [[top for regions in factor for top in regions] for factor in zip(*batches, strict=True)]
    return tuple(tuple(sorted(regions, key=lambda top: -top.score)[:PER_FACTOR]) for regions in joined)


def _rank_regions(scores: Array, groups: Ints, starts: Ints, first_photo: int) -> tuple[TopRegion, ...]:
    """The strongest regions of one factor; those where it is off (log-odds of 0 or less) are left out."""
    best: dict[int, TopRegion] = {}
    for row in np.argsort(-scores, kind="stable"):
        if scores[row] <= 0 or len(best) == PER_FACTOR:
            break
        photo = int(groups[row])
        if photo not in best:
            best[photo] = TopRegion(first_photo + photo, int(row - starts[photo]), float(scores[row]))
    return tuple(best.values())


def crop_examples(
    top_regions: TopRegions, paths: Sequence[Path], photos: Sequence[PhotoFeatures]
) -> tuple[tuple[ExampleCrop, ...], ...]:
    """Pictures of the top regions of each factor."""
    pictures: dict[tuple[int, int], bytes] = {}
    for photo, region in sorted({top[:2] for regions in top_regions for top in regions}):
        check_stop()
        pictures[photo, region] = crop_region(read_photo(paths[photo]).pixels, photos[photo].labels == region)
    return tuple(tuple(ExampleCrop(top.score, pictures[top[:2]]) for top in regions) for regions in top_regions)


def crop_region(pixels: Array, mask: Array) -> bytes:
    """A JPEG, at most SIDE pixels wide and high, of the region in `mask` with its outline and surroundings."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    half = (0.5 + MARGIN) * max(np.ptp(rows) + 1, np.ptp(columns) + 1, 32)
    y, x = rows.mean(), columns.mean()
    top, left = max(0, int(y - half)), max(0, int(x - half))
    bottom, right = int(np.ceil(y + half)), int(np.ceil(x + half))
    picture = pixels[top:bottom, left:right].copy()
    contours, _ = cv2.findContours(
        mask[top:bottom, left:right].astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE
    )
    cv2.drawContours(picture, contours, -1, OUTLINE, 1)
    scale = SIDE / max(picture.shape[:2])
    size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
    picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    _, jpeg = cv2.imencode(".jpg", picture[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])
    return jpeg.tobytes()
