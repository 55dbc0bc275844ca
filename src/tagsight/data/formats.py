"""The file formats of photos that are read, and what to do about the formats that this installation cannot read.

AVIF is read if Pillow is built with it, HEIC if the optional package pi-heif is installed.
"""

import struct
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath

from PIL import features

_READS_AVIF = bool(features.check("avif"))
_READS_HEIC = find_spec("pi_heif") is not None

if _READS_HEIC:
    import_module("pi_heif").register_heif_opener()

FORMATS: tuple[str, ...] = (
    *("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF"),
    *(("AVIF",) if _READS_AVIF else ()),
    *(("HEIF",) if _READS_HEIC else ()),
)
"""Names of the formats that Pillow may open; its other formats are refused."""

_AVIF_SUFFIXES = (".avif",)
_HEIC_SUFFIXES = (".heic", ".heif", ".hif")

PHOTO_SUFFIXES = frozenset(
    (".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
    + (_AVIF_SUFFIXES if _READS_AVIF else ())
    + (_HEIC_SUFFIXES if _READS_HEIC else ())
)

OTHER_IMAGE_SUFFIXES = frozenset({
    ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".exr", ".hdr", ".ico", ".iiq", ".j2k",
    ".jp2", ".jxl", ".jxr", ".kdc", ".mef", ".mos", ".mrw", ".nef", ".nrw", ".orf", ".pbm", ".pcx", ".pef",
    ".pgm", ".pnm", ".ppm", ".psd", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".svg", ".tga",
    ".x3f", ".xcf",
})  # fmt: skip
"""Image files that are never read: camera raw files, drawings and rare formats."""

DECODER_ERRORS = (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""The exceptions of Pillow's decoders for damaged files. OSError covers truncation and failures of the disk."""


def find_remedy(name: str | PurePath) -> str | None:
    """The reason and the remedy if this installation cannot read files with the suffix of `name`."""
    suffix = PurePath(name).suffix.lower()
    if suffix in _HEIC_SUFFIXES and not _READS_HEIC:
        return "HEIC photos are read only with the package pi-heif: pip install 'tagsight[heic]'"
    if suffix in _AVIF_SUFFIXES and not _READS_AVIF:
        return "the installed Pillow is built without AVIF: install a Pillow of PyPI, or convert the photo to JPEG"
    return None


def is_image(name: str | PurePath) -> bool:
    """Whether a file has the suffix of an image, of a format that is read here or of another one."""
    suffix = PurePath(name).suffix.lower()
    return suffix in PHOTO_SUFFIXES or suffix in OTHER_IMAGE_SUFFIXES or find_remedy(name) is not None
