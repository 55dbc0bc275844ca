"""The photos' files as the browser gets them: those that were indexed, upright, no larger than shown."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tagsight.data.photo import read_photo
from tagsight.errors import InputError
from tagsight.index import Index
from tagsight.pictures.overlay import encode_jpeg

CACHED = 64 * 1024 * 1024  # bytes of JPEG kept in memory
AT_ONCE = 2  # photos decoded at the same time


class NotServedError(InputError):
    """A photo's file is gone, cannot be read, or is a link to a file that changed since it was indexed."""


class PhotoFile(NamedTuple):
    """A photo's file as it is now."""

    path: Path
    mtime_ns: int
    n_bytes: int

    def tag(self, side: int) -> str:
        """Differs where the picture of this side may."""
        text = f"{self.path} {self.mtime_ns} {self.n_bytes} {side}"
        return f'"{sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]}"'


def locate_photo(index: Index, photo: int) -> PhotoFile:
    """The file of a photo by number.

    Links are followed. A file outside the collection must have the size and time that it had when it was indexed.
    """
    stored = index.stored_file(photo)
    root = Path(index.manifest.root).resolve()
    try:
        real = stored.path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError, ValueError) as problem:
        raise NotServedError(f"the file of photo {photo} is gone") from problem
    unchanged = (status.st_size, status.st_mtime_ns) == (stored.n_bytes, stored.mtime_ns)
    if not (unchanged or real.is_relative_to(root)):
        raise NotServedError(
            f"photo {photo} is a link to a file outside the collection that changed since it was indexed; "
            "run 'tagsight index' again"
        )
    return PhotoFile(real, status.st_mtime_ns, status.st_size)


class Pictures:
    """JPEGs of photos at the size they are shown, the last used kept in memory."""

    def __init__(self, largest: int = CACHED):
        self._largest = largest
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._decoding = threading.BoundedSemaphore(AT_ONCE)

    def draw(self, file: PhotoFile, side: int) -> bytes:
        """The photo, its longer side at most `side`, without whatever else the file says."""
        return self._keep(file.tag(side), lambda: self._read(file.path, side))

    def _read(self, path: Path, side: int) -> bytes:
        with self._decoding:
            try:
                return encode_jpeg(read_photo(path, max_side=side).pixels)
            except InputError as problem:
                raise NotServedError("the photo's file cannot be read (any more)") from problem

    def _keep(self, key: str, make: Callable[[], bytes]) -> bytes:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        content = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = content
                self._n_bytes += len(content)
            while self._n_bytes > self._largest:
                self._n_bytes -= len(self._kept.popitem(last=False)[1])
        return content
