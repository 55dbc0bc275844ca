"""A photo with its objects tinted and outlined, and a legend."""

from io import BytesIO

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tagsight.pictures.palette import make_voc_palette
from tagsight.regions import resize_map
from tagsight.types import Array

SIDE = 1000  # pixels of the longer side, at most
TINT = 0.45
LINE = 22  # pixels of a line of the legend


def paint_overlay(pixels: Array, mask: Array, names: tuple[str, ...]) -> Array:
    """(h + legend, w, 3) uint8; `mask` is scaled to `pixels` (h, w, 3)."""
    small = resize_map(mask, (pixels.shape[1], pixels.shape[0]))
    colours = make_voc_palette()
    shown: Array = np.unique(small[small > 0])
    picture = np.where((small > 0)[..., None], (1 - TINT) * pixels + TINT * colours[small], pixels).astype(np.uint8)
    for label in map(int, shown):
        inside: Array = (small == label).astype(np.uint8)
        contours, _ = cv2.findContours(inside, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, contours, -1, tuple(int(value) for value in colours[label]), 2)
    return np.concatenate([picture, _draw_legend(picture.shape[1], shown, names, colours)])


def encode_jpeg(pixels: Array) -> bytes:
    """RGB pixels as a JPEG file."""
    stream = BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=88)
    return stream.getvalue()


def _draw_legend(width: int, shown: Array, names: tuple[str, ...], colours: Array) -> Array:
    """A coloured square and a name for each label; lines wrap at the width of the picture."""
    font = ImageFont.load_default(LINE * 0.65)
    entries = [(int(label), names[int(label) - 1]) for label in shown] or [(0, "no object found")]
    places: list[tuple[int, int]] = []
    x, y = 6, 0
    for _, name in entries:
        length = int(font.getlength(name)) + 2 * LINE
        if x + length > width and x > 6:
            x, y = 6, y + LINE
        places.append((x, y))
        x += length
    legend = Image.new("RGB", (width, y + LINE), "white")
    draw = ImageDraw.Draw(legend)
    for (label, name), (x, y) in zip(entries, places, strict=True):
        if label:
            draw.rectangle((x, y + 4, x + 14, y + 18), fill=tuple(int(value) for value in colours[label]))
        draw.text((x + 20, y + 3), name, fill="black", font=font)
    return np.asarray(legend)
