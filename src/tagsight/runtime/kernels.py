"""Compiled functions with a cache on disk that depends on all sources of kernels and detects damage.

Numba's own cache depends on the file of a kernel only, so a change of a kernel that it calls from another file would go
unnoticed. It also unpickles any content: a truncated file would raise at every start, and a file with a changed bit
could crash the process or compute wrong numbers.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

from tagsight.runtime.interrupts import defer_interrupt

FOLDERS = ("features", "model", "regions")  # of the package, with kernels in them


def stamp_sources() -> str:
    """Hash of all files that have kernels."""
    package = Path(__file__).parents[1]
    files = [Path(__file__)]
    files += [file for folder in FOLDERS for file in sorted((package / folder).glob("*.py"))]
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


STAMP = stamp_sources()


class VerifiedFiles(IndexDataCacheFile):
    """The files of Numba's cache, each preceded by a SHA-256 of Numba's version and the content.

    A file that does not match its hash is treated as missing: the kernel is compiled again, and the file replaced.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            stamp, overloads = pickle.loads(self._read(self._index_path))
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._read(self._data_path(name)))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> bytes:
        whole = Path(path).read_bytes()
        digest, content = whole[: sha256().digest_size], whole[sha256().digest_size :]
        if digest != _hash(content):
            raise FileNotFoundError(f"{path} is damaged, or of another version of Numba")
        return content

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(_hash(content) + content)


def _hash(content: bytes) -> bytes:
    return sha256(numba.__version__.encode() + b"\0" + content).digest()


class SourceCache(FunctionCache):
    """Numba's cache with the stamp of the sources in its keys and verified files."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._cache_file = VerifiedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), STAMP)


def kernel(*, fastmath: set[str] | bool = False, inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function without the GIL, cached on disk.

    With `inline`, the function is copied into the kernels that call it, and compiled with their fastmath.
    """

    def compile_function(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(nogil=True, fastmath=fastmath, inline="always" if inline else "never")(function)
        with suppress(RuntimeError):  # without a writable folder the kernel is compiled in every process
            dispatcher._cache = SourceCache(function)
        # llvmlite drops an exception that is raised while it asks for cached code, and the kernel would crash.
        dispatcher.compile = defer_interrupt()(dispatcher.compile)
        return dispatcher

    return compile_function
