"""Compiled functions whose cache on disk knows all the sources they were made from.

Numba keys a cached kernel by its own file only, so that a change in a kernel it calls from another file
would go unnoticed, in development and after an upgrade alike.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

FOLDERS = ("model", "regions")  # of the package, with kernels in them


def stamp_sources() -> str:
    """Hash of every file that kernels call each other from."""
    package = Path(__file__).parent
    files = [Path(__file__), package / "numerics.py"]
    files += [file for folder in FOLDERS for file in sorted((package / folder).glob("*.py"))]
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


STAMP = stamp_sources()


class SourceCache(FunctionCache):
    """Numba's cache with the stamp in its keys."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), STAMP)


def kernel(*, fastmath: set[str] | bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile without the GIL, cached on disk."""

    def compile_function(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(nogil=True, fastmath=fastmath)(function)
        dispatcher._cache = SourceCache(function)
        return dispatcher

    return compile_function
