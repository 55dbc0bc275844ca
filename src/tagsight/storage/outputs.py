"""Outputs that never damage other files: they are checked before the work, and only files of tagsight are replaced.

- A file (model, page) may be written where there is none, or in place of one of the same kind.
- A folder that tagsight manages (index, demo, checkpoint) has a marker, `.tagsight.json`. Files are deleted only in
  such folders.
- A folder that users share (masks, exports) has a record, `.tagsight-files.jsonl`, with the name and SHA-256 of every
  file written there. A file is replaced only if it still has the recorded content.
"""

import json
import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from tagsight.errors import InputError
from tagsight.storage.files import append_line, is_partial, read_bytes, write_atomically
from tagsight.storage.tensor_file import is_json_object

MARKER = ".tagsight.json"
RECORD = ".tagsight-files.jsonl"
GENERATOR = b'<meta name="generator" content="tagsight">'
SYSTEM_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
HEAD = 4096  # bytes at the start of a page that name its generator


def is_model(path: Path) -> bool:
    """Whether a file is a tagsight model, according to its header."""
    try:
        with safe_open(path, framework="np") as file:
            return "tagsight" in (file.metadata() or {})
    except (SafetensorError, OSError):
        return False


def is_page(path: Path) -> bool:
    """Whether a file is an HTML page that tagsight wrote."""
    with path.open("rb") as file:
        return GENERATOR in file.read(HEAD)


def check_output_file(path: Path, kind: str, is_ours: Callable[[Path], bool]) -> None:
    """Raise InputError unless `path` is free, an empty file, or a file for which `is_ours` is true."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: give the name of a file to write")
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise InputError(f"{str(path)!r} is a link or a device: give the name of a plain file to write")
    if path.exists() and path.stat().st_size and not is_ours(path):
        raise InputError(f"{str(path)!r} is there already and is not {kind}: remove it, or choose another name")
    _check_parents(path.parent)


def check_folder(folder: Path, kind: str, is_ours: Callable[[Path], bool] = lambda folder: False) -> None:
    """Raise InputError unless tagsight may manage `folder` as a folder of this `kind`.

    It may if the folder is new or empty, has the marker of the kind, or `is_ours` is true for it.
    """
    if not folder.exists():
        return _check_parents(folder)
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file: give the name of a folder")
    marker = _read_marker(folder)
    if marker == kind or (marker is None and (not _list_foreign(folder) or is_ours(folder))):
        return _check_parents(folder)
    if marker:
        holds = f"is a {marker}"
    elif (folder / RECORD).is_file():
        holds = "holds masks or exports"
    else:
        holds = f"holds {_list_foreign(folder)[0]!r}, which tagsight did not write"
    raise InputError(f"{str(folder)!r} {holds}: choose a new or an empty folder for the {kind}")


def claim_folder(folder: Path, kind: str, is_ours: Callable[[Path], bool] = lambda folder: False) -> None:
    """Mark `folder` as managed by tagsight; raises InputError as `check_folder` does."""
    check_folder(folder, kind, is_ours)
    if _read_marker(folder) != kind:
        write_atomically(folder / MARKER, json.dumps({"kind": kind}).encode())


def is_claimed(folder: Path, kind: str) -> bool:
    """Whether `folder` has the marker of this kind."""
    return _read_marker(folder) == kind


class SharedFolder:
    """A folder in which tagsight writes files beside those of the user; `inputs` are never replaced."""

    def __init__(self, folder: Path, inputs: Iterable[Path] = ()):
        self.folder = folder
        self._inputs = {os.path.realpath(path) for path in inputs}
        self._written = _read_record(folder / RECORD)

    def check(self, names: Iterable[str]) -> None:
        """Raise InputError unless each file is missing, or is as tagsight wrote it and not an input."""
        check_writable(self.folder)
        for name in names:
            path = self.folder / name
            if os.path.realpath(path) in self._inputs:
                raise InputError(f"{str(path)!r} is one of the photos given: choose another output folder")
            if os.path.lexists(path) and not self._is_ours(name):
                raise InputError(f"{str(path)!r} is there already and not as tagsight wrote it: choose another folder")

    def write(self, name: str, content: bytes) -> Path:
        """Write a file. It is recorded first, so that a file whose writing was interrupted can be replaced later."""
        self.check([name])
        digest = sha256(content).hexdigest()
        if digest not in self._written.setdefault(name, set()):
            self._written[name].add(digest)
            append_line(self.folder / RECORD, json.dumps({"file": name, "sha256": digest}))
        write_atomically(self.folder / name, content)
        return self.folder / name

    def wrote(self, path: Path) -> bool:
        """Whether a file below the folder is one that tagsight wrote and nobody changed."""
        return path.is_relative_to(self.folder) and self._is_ours(path.relative_to(self.folder).as_posix())

    def _is_ours(self, name: str) -> bool:
        path = self.folder / name
        if name not in self._written or path.is_symlink() or not path.is_file():
            return False
        return sha256(read_bytes(path)).hexdigest() in self._written[name]


def _read_record(path: Path) -> dict[str, set[str]]:
    """The digests of the contents written under each name; invalid lines are skipped."""
    written: dict[str, set[str]] = {}
    if not path.is_file():
        return written
    for line in read_bytes(path).splitlines():
        entry = _parse(line)
        if entry is not None:
            written.setdefault(str(entry.get("file")), set()).add(str(entry.get("sha256")))
    return written


def _read_marker(folder: Path) -> str | None:
    path = folder / MARKER
    entry = _parse(read_bytes(path)) if path.is_file() else None
    return None if entry is None else str(entry.get("kind"))


def _parse(content: bytes) -> dict[str, Any] | None:
    """The JSON object in `content`, or None if it holds none."""
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if is_json_object(value) else None


def _list_foreign(folder: Path) -> list[str]:
    """The names in a folder, except those of operating systems and of partial files."""
    return sorted(name for name in os.listdir(folder) if name not in SYSTEM_FILES and not is_partial(name))


def check_writable(folder: Path) -> None:
    """Raise InputError unless files can be written to a folder, which may not exist yet."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file: give the name of a folder")
    _check_parents(folder)


def _check_parents(folder: Path) -> None:
    """Raise InputError unless the nearest existing folder is writable."""
    for place in (folder, *folder.absolute().parents):
        if os.path.lexists(place):
            if not place.is_dir():
                raise InputError(
                    f"{str(folder)!r} cannot be made: {str(place)!r} is not a folder; choose another place"
                )
            if not os.access(place, os.W_OK | os.X_OK):
                raise InputError(f"no permission to write to {str(place)!r}: choose another place")
            return
