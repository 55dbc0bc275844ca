"""Label maps as PNG, and the region at a pixel."""

import cv2
import numpy as np

from tagsight.errors import InputError
from tagsight.index.errors import LostIndexError
from tagsight.index.manifest import REPAIR
from tagsight.types import Array


def encode_labels(labels: Array) -> bytes:
    """A label map (h, w) as PNG, with eight bits where they are enough."""
    ok, png = cv2.imencode(".png", labels.astype(np.uint8 if labels.max() < 256 else np.uint16))
    if not ok:
        raise InputError(f"a label map of shape {labels.shape} cannot be stored")
    return png.tobytes()


def decode_labels(png: bytes) -> Array:
    """(h, w) int32, as `encode_labels` took it."""
    labels = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    if labels is None:
        raise LostIndexError(f"a label map of the index is damaged; {REPAIR}")
    return np.asarray(labels).astype(np.int32)


def pick_region(labels: Array, size: tuple[int, int], x: int, y: int) -> int:
    """The region of a label map (h, w) at pixel (x, y) of the whole photo of `size` (W, H)."""
    width, height = size
    if not (0 <= x < width and 0 <= y < height):
        raise InputError(f"pixel {x},{y} lies outside a photo of {width} x {height} pixels")
    h, w = labels.shape
    return int(labels[y * h // height, x * w // width])
