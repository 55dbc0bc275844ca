"""Reading photo files: upright RGB pixels at the scale of analysis.

Whatever a decoder raises becomes an UnreadablePhotoError that names the file, since files come from anywhere.
"""

import os
import stat
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import ExifTags, Image

from tagsight.data.formats import DECODER_ERRORS, FORMATS, find_remedy
from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.types import Array

# Pillow's own limit by default, twice its warning level; a 108-megapixel photo is below it.
MAX_PIXELS = 2 * 89_478_485


class Photo(NamedTuple):
    """A photo at the scale of analysis, with the size of the whole photo."""

    pixels: Array  # (h, w, 3) uint8 RGB
    size: tuple[int, int]  # (W, H) of the whole photo, upright


def read_photo(path: str | os.PathLike[str], *, max_side: int = 500) -> Photo:
    """Read a photo upright, its longer side at most `max_side` pixels; smaller photos keep their size.

    Transparent pixels are drawn on white. Of an animation the first frame is read, of 16-bit grey levels the upper
    eight bits. Larger photos are averaged over areas; JPEGs are partly reduced while they are decoded.
    """
    if max_side < 1:
        raise InputError(f"max_side must be 1 or more, got {max_side}")
    _check_file(path)
    return _orient(path, _load(path, path, max_side, MAX_PIXELS), max_side)


def decode_photo(content: bytes, name: str, *, max_side: int = 500, max_pixels: int = MAX_PIXELS) -> Photo:
    """As `read_photo`, for the `content` of a file; errors call the photo `name`."""
    return _orient(name, _load(BytesIO(content), name, max_side, max_pixels), max_side)


def convert_image(image: Image.Image | Array, *, max_side: int = 500) -> Photo:
    """As `read_photo`, for an image or an array (H, W), (H, W, 3) or (H, W, 4) uint8 in memory.

    The EXIF orientation is not applied, so that a label map of the photo has the shape of the array.
    """
    name = "the image in memory"
    if isinstance(image, np.ndarray):
        image = _from_array(image)
    with _name_errors(name, MAX_PIXELS):
        image.load()
        return _orient(name, _Loaded(image, image.size, 1), max_side)


def _from_array(pixels: Array) -> Image.Image:
    if pixels.dtype != np.uint8:
        raise InputError(f"the array of an image must be of type uint8, got {pixels.dtype}; convert it, 0 to 255")
    if pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,), (4,)) or 0 in pixels.shape:
        raise InputError(
            f"the array of an image must have the shape (H, W), (H, W, 3) or (H, W, 4), got {pixels.shape}; "
            "give several images as a list"
        )
    return Image.fromarray(np.ascontiguousarray(pixels))


def read_size(path: str | os.PathLike[str]) -> tuple[int, int]:
    """(W, H) of the whole photo, upright, from its header; pixels are not decoded."""
    _check_file(path)
    with _name_errors(path, MAX_PIXELS), Image.open(path, formats=FORMATS) as image:
        # Of a TIFF, Pillow gives the upright size already.
        return image.size if image.format == "TIFF" else _turn_size(image.size, _read_orientation(image))


def _orient(path: str | os.PathLike[str], loaded: "_Loaded", max_side: int) -> Photo:
    image = _whiten(_reduce(_to_rgb(path, loaded.image), _fit(loaded.size, max_side)))
    if loaded.orientation not in _UPRIGHT:
        return Photo(np.array(image), loaded.size)
    upright = image.transpose(_UPRIGHT[loaded.orientation])
    return Photo(np.array(upright), _turn_size(loaded.size, loaded.orientation))


def _turn_size(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    width, height = size
    return (height, width) if orientation in _SIDEWAYS else size


class _Loaded(NamedTuple):
    image: Image.Image  # as stored; a JPEG perhaps smaller already
    size: tuple[int, int]  # (W, H) as stored
    orientation: int


def _load(
    file: str | os.PathLike[str] | BytesIO, path: str | os.PathLike[str], max_side: int, max_pixels: int
) -> _Loaded:
    with _name_errors(path, max_pixels), Image.open(file, formats=FORMATS) as image:
        size = image.size
        if size[0] * size[1] > max_pixels:
            raise Image.DecompressionBombError(f"{size[0]} x {size[1]} pixels")
        # A JPEG decodes at 1/2, 1/4 or 1/8 of its size where that is still enough.
        image.draft(None, _fit(size, max_side))
        image.load()
        if image.format == "HEIF" and image.size != size:
            # libheif decodes the content at its own size, even if the header states another one.
            raise OSError(
                f"its header states {size[0]} x {size[1]} pixels, its content has {image.width} x {image.height}"
            )
        return _Loaded(image, size, _read_orientation(image))


@contextmanager
def _name_errors(path: str | os.PathLike[str], max_pixels: int) -> Generator[None]:
    """Turn exceptions of Pillow into an UnreadablePhotoError that names the photo."""
    try:
        with warnings.catch_warnings():
            # The limit is max_pixels; Pillow would warn at half of it.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    except Image.UnidentifiedImageError as error:
        known = f"not a file of a known format ({', '.join(FORMATS)})"
        raise UnreadablePhotoError(path, find_remedy(os.fsdecode(path)) or known) from error
    except Image.DecompressionBombError as error:
        raise UnreadablePhotoError(path, f"its header states more than {max_pixels:,} pixels") from error
    except MemoryError as error:
        raise UnreadablePhotoError(path, "not enough memory to decode it") from error
    except DECODER_ERRORS as error:
        raise UnreadablePhotoError(path, _explain(error)) from error


def _check_file(path: str | os.PathLike[str]) -> None:
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise UnreadablePhotoError(path, _explain(error)) from error
    if not stat.S_ISREG(status.st_mode):
        # Opening a pipe would block until another process opens its other end.
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise UnreadablePhotoError(path, f"{kind}, not a file")
    if status.st_size == 0:
        raise UnreadablePhotoError(path, "the file is empty")


def _explain(error: Exception) -> str:
    """The cause of an error in one line without control characters: decoders may quote the content of a file."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


# EXIF orientation -> the operation that turns the stored pixels upright.
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIDEWAYS = frozenset({5, 6, 7, 8})


def _read_orientation(image: Image.Image) -> int:
    """The EXIF orientation, or none if the EXIF block cannot be parsed, as in image viewers.

    A TIFF that Pillow has loaded is upright already and has lost the tag.
    """
    try:
        return image.getexif().get(ExifTags.Base.Orientation, 1)
    except DECODER_ERRORS:
        return 1


def _fit(size: tuple[int, int], max_side: int) -> tuple[int, int]:
    scale = min(1.0, max_side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _to_rgb(path: str | os.PathLike[str], image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise UnreadablePhotoError(
            path,
            f"its samples are 32-bit ({image.mode}), which have no standard white level; save it with 8 or 16 bits",
        )
    mode = "RGBA" if image.has_transparency_data else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _reduce(image: Image.Image, target: tuple[int, int]) -> Image.Image:
    return image if image.size == target else image.resize(target, Image.Resampling.BOX)


def _whiten(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
