"""Outlines of regions as polygons, to be drawn over a photo of any size."""

from collections.abc import Sequence

import cv2
import numpy as np

from tagsight.regions import find_boxes
from tagsight.types import Array

Ring = list[tuple[float, float]]  # x, y in the whole photo; a ring inside a ring is a hole
LINES = (("#000a", 5), ("#ffd60a", 2.5))  # colour and width of two lines, visible on light and dark photos
SMOOTH = 0.6  # largest error of a simplified line, in pixels of the label map


def outline_regions(labels: Array, size: tuple[int, int]) -> list[list[Ring]]:
    """The rings of every region of a label map (h, w), at the scale of a photo of `size` (W, H)."""
    return [
        outline_mask(labels[y0:y1, x0:x1] == region, size, whole=labels.shape, corner=(x0, y0))
        for region, (x0, y0, x1, y1) in enumerate(find_boxes(labels).tolist())
    ]


def outline_mask(
    mask: Array, size: tuple[int, int], *, whole: tuple[int, ...] | None = None, corner: tuple[int, int] = (0, 0)
) -> list[Ring]:
    """The rings of the true pixels of a mask at `corner` of a map of shape `whole`; None: the mask is the map.

    Contours are found on a map of double size, so that lines run between pixels, a quarter of a pixel inside.
    """
    height, width = whole or mask.shape
    scale = np.array([size[0] / width, size[1] / height])
    double = np.repeat(np.repeat(mask.astype(np.uint8), 2, axis=0), 2, axis=1)
    contours, _ = cv2.findContours(double, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    rings: list[Ring] = []
    for contour in contours:
        points = cv2.approxPolyDP(contour, 2 * SMOOTH, True)[:, 0]
        if len(points) > 2:
            places = (((points + 0.5) / 2 + corner) * scale).round(1)
            rings.append([(float(x), float(y)) for x, y in places])
    return rings


def draw_path(rings: Sequence[Ring]) -> str:
    """The `d` of an SVG path, filled by the even-odd rule."""
    return "".join("M" + "L".join(f"{x:g},{y:g}" for x, y in ring) + "Z" for ring in rings)


def draw_svg(rings: Sequence[Ring], size: tuple[int, int]) -> str:
    """An SVG to be laid over a photo of `size` (W, H); the width of its lines does not depend on the size on screen."""
    width, height = size
    shape = draw_path(rings)
    lines = "".join(
        f'<path d="{shape}" fill="none" stroke="{colour}" stroke-width="{line}" stroke-linejoin="round" '
        'vector-effect="non-scaling-stroke"/>'
        for colour, line in LINES
    )
    frame = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>{lines}</svg>'
