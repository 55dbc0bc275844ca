"""Pictures of the regions in which each factor is strongest."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from tagsight.data.photo import read_photo
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.trained_model import ExampleCrop
from tagsight.runtime.interrupts import check_stop
from tagsight.training.top_regions import TopRegions
from tagsight.types import Array

SIDE = 128  # pixels of a picture
MARGIN = 0.25  # of the region's box, kept around it
OUTLINE = (255, 214, 0)


def crop_examples(
    top_regions: TopRegions, paths: Sequence[Path], photos: Sequence[PhotoFeatures]
) -> tuple[tuple[ExampleCrop, ...], ...]:
    """Pictures of the strongest regions of each factor."""
    wanted = sorted({spot[:2] for factor in top_regions for spot in factor})
    pictures: dict[tuple[int, int], bytes] = {}
    for photo, region in wanted:
        check_stop()
        pictures[photo, region] = draw_region(read_photo(paths[photo]).pixels, photos[photo].labels == region)
    return tuple(tuple(ExampleCrop(spot.score, pictures[spot[:2]]) for spot in factor) for factor in top_regions)


def draw_region(pixels: Array, mask: Array) -> bytes:
    """A square JPEG of the region and what is around it, the region outlined."""
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
