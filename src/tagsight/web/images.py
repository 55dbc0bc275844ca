"""JPEGs of the indexed photos for the browser: upright, without metadata, no larger than they are displayed."""

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

CACHE_BYTES = 64 * 1024 * 1024
MAX_DECODING = 2  # photos decoded at the same time


class PhotoUnavailableError(InputError):
    """The file of a photo is missing, unreadable, or a link to a file that changed since it was indexed."""


class PhotoFile(NamedTuple):
    """The file of a photo in its present state."""

    path: Path
    mtime_ns: int
    n_bytes: int

    def make_etag(self, max_side: int) -> str:
        """An ETag of the JPEG of this size; it changes when the file does."""
        text = f"{self.path} {self.mtime_ns} {self.n_bytes} {max_side}"
        return f'"{sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]}"'


def locate_photo(index: Index, photo: int) -> PhotoFile:
    """The file of a photo by number.

    Links are followed. A file outside the collection must have the size and time that it had when it was indexed.
    """
    stored = index.stored_file(photo)
    root = Path(index.manifest.root).resolve()
    try:
        path = stored.path.resolve(strict=True)
        status = path.stat()
    except (OSError, RuntimeError, ValueError) as problem:
        raise PhotoUnavailableError(f"the file of photo {photo} no longer exists") from problem
    unchanged = (status.st_size, status.st_mtime_ns) == (stored.n_bytes, stored.mtime_ns)
    if not (unchanged or path.is_relative_to(root)):
        raise PhotoUnavailableError(
            f"photo {photo} is a link to a file outside the collection that changed since it was indexed; "
            "run 'tagsight index' again"
        )
    return PhotoFile(path, status.st_mtime_ns, status.st_size)


class ImageCache:
    """Encodes photos as JPEGs of a given size; the most recently used stay in memory, up to `max_bytes`."""

    def __init__(self, max_bytes: int = CACHE_BYTES):
        self._max_bytes = max_bytes
        self._cached: OrderedDict[str, bytes] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._decoding = threading.BoundedSemaphore(MAX_DECODING)

    def load_jpeg(self, file: PhotoFile, max_side: int) -> bytes:
        """A JPEG of the photo without metadata, its longer side at most `max_side` pixels."""
        return self._get_or_make(file.make_etag(max_side), lambda: self._encode(file.path, max_side))

    def _encode(self, path: Path, max_side: int) -> bytes:
        with self._decoding:
            try:
                return encode_jpeg(read_photo(path, max_side=max_side).pixels)
            except InputError as problem:
                raise PhotoUnavailableError("the file of the photo cannot be read") from problem

    def _get_or_make(self, key: str, make: Callable[[], bytes]) -> bytes:
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        content = make()
        with self._lock:
            if key not in self._cached:
                self._cached[key] = content
                self._n_bytes += len(content)
            while self._n_bytes > self._max_bytes:
                self._n_bytes -= len(self._cached.popitem(last=False)[1])
        return content
