"""Label maps as palette PNGs, in the colours of PASCAL VOC."""

from io import BytesIO

import numpy as np
from PIL import Image

from tagsight.types import Array

LARGEST = 254  # 255 is VOC's void


def encode_palette(mask: Array) -> bytes:
    """A PNG whose pixel values are those of `mask` (H, W) uint8."""
    image = Image.fromarray(mask)
    image.putpalette(make_voc_palette().tobytes())
    stream = BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def make_voc_palette(n_colours: int = 256) -> Array:
    """(n_colours, 3) uint8: the colours of the masks of PASCAL VOC; 0 is black."""
    ids = np.arange(n_colours)
    palette = np.zeros((n_colours, 3), np.uint8)
    for shift in range(8):
        for channel in range(3):
            palette[:, channel] |= ((ids >> (3 * shift + channel) & 1) << (7 - shift)).astype(np.uint8)
    return palette
