"""Pictures of the regions in which each factor is strongest."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from tagsight.data.photo import read_photo
from tagsight.features.described import DescribedPhoto
from tagsight.trained import Exemplar
from tagsight.types import Array, Ints

PER_FACTOR = 6
SIDE = 128  # pixels of a picture
MARGIN = 0.25  # of the region's box, kept around it
OUTLINE = (255, 214, 0)


def pick_exemplars(
    log_odds: Array, groups: Ints, paths: Sequence[Path], photos: Sequence[DescribedPhoto]
) -> tuple[tuple[Exemplar, ...], ...]:
    """The strongest regions of each factor, at most one a photo, from log-odds (N, K) of all regions."""
    first = np.searchsorted(groups, np.arange(len(photos)))
    wanted: list[list[tuple[int, int, float]]] = []
    for k in range(log_odds.shape[1]):
        wanted.append(_strongest(log_odds[:, k], groups))
    pictures: dict[int, bytes] = {}
    for row in sorted({row for rows in wanted for _, row, _ in rows}):
        photo = int(groups[row])
        pixels = read_photo(paths[photo]).pixels
        pictures[row] = draw_region(pixels, photos[photo].labels == row - first[photo])
    return tuple(tuple(Exemplar(score, pictures[row]) for _, row, score in rows) for rows in wanted)


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


def _strongest(scores: Array, groups: Ints) -> list[tuple[int, int, float]]:
    """(photo, row, score) of the best rows, one a photo; rows that are off or forbidden do not count."""
    best: dict[int, tuple[int, int, float]] = {}
    for row in np.argsort(-scores, kind="stable"):
        if scores[row] <= 0 or len(best) == PER_FACTOR:
            break
        photo = int(groups[row])
        if photo not in best:
            best[photo] = (photo, int(row), float(scores[row]))
    return list(best.values())
