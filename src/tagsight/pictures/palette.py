"""Label maps as palette PNGs, in PASCAL VOC's colours."""

from io import BytesIO

from PIL import Image

from tagsight.data.synthetic.palette import make_voc_palette
from tagsight.types import Array

LARGEST = 254  # 255 is VOC's void


def encode_palette(mask: Array) -> bytes:
    """A PNG whose pixel values are those of `mask` (H, W) uint8."""
    image = Image.fromarray(mask)
    image.putpalette(make_voc_palette().tobytes())
    stream = BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
