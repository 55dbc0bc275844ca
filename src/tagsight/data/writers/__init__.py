"""Writers of tags into the files of users, in which everything that does not change keeps its bytes."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tagsight.data.collection import Problem
from tagsight.data.tag_changes import TagChange
from tagsight.data.writers.sidecars import plan_sidecar_changes
from tagsight.data.writers.table import plan_table_change
from tagsight.errors import InputError
from tagsight.storage.edits import FileChange
from tagsight.storage.locks import hold_lock

TARGETS = ("tags", "xmp")
"""The files that are written: the collection's tags file, or XMP sidecars."""

_LOCK = ".tagsight-write-back.lock"


def plan_changes(collection: Path, changes: Iterable[TagChange], target: str) -> Iterator[FileChange | Problem]:
    """The changes of files that make changes of tags, and the changes of tags that cannot be made.

    Nothing is written: `storage.edits.write_change` does that.

    Args:
        collection: Folder of the photos, or its tags file.
        changes: Changes of tags. Of several changes of the same tag of a photo, the last counts.
        target: One of `TARGETS`.
    """
    if target not in TARGETS:
        raise InputError(f"tags cannot be written to {target!r}: choose one of {', '.join(TARGETS)}")
    if target == "xmp":
        yield from plan_sidecar_changes(find_root(collection), changes)
        return
    planned = plan_table_change(collection, changes)
    if planned.file.edits:
        yield planned.file
    yield from planned.problems


def find_root(collection: Path) -> Path:
    """The folder of a collection that is given by its folder or its tags file."""
    if not collection.exists():
        raise InputError(f"{str(collection)!r} does not exist: give the folder of the photos or its tags file")
    return collection if collection.is_dir() else collection.parent


@contextmanager
def lock_collection(collection: Path) -> Generator[None]:
    """Hold the lock of a collection while its files are read and written; InputError if another process holds it."""
    busy = f"another command is writing tags to {str(collection)!r}: run this one when it has ended"
    with hold_lock(find_root(collection) / _LOCK, wait=False, busy=busy, remove=True):
        yield
