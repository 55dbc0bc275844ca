"""tagsight write-back."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import CollectionFolder
from tagsight.cli.console import list_problems, show_text
from tagsight.data.collection import Problem
from tagsight.data.tag_changes import read_changes
from tagsight.data.writers import TARGETS, find_root, lock_collection, plan_changes
from tagsight.errors import InputError, WriteError
from tagsight.runtime.interrupts import check_stop
from tagsight.storage.edits import FileChange, format_diff, write_change


def run(
    collection: CollectionFolder,
    changes: Annotated[
        Path,
        typer.Option(metavar="FILE", help="CSV or JSON lines file with the columns photo, word, kind and present."),
    ],
    to: Annotated[
        str, typer.Option(help=f"Files to change, one of {', '.join(TARGETS)}: the tags file, or XMP sidecars.")
    ] = TARGETS[0],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the differences, and write nothing.")] = False,
) -> None:
    """Write changes of tags into your files; everything else in them is kept byte by byte."""
    wanted = read_changes(changes)
    written = refused = 0
    with nullcontext() if dry_run else lock_collection(collection):
        for planned in plan_changes(collection, wanted, to):
            check_stop()
            problem = planned if isinstance(planned, Problem) else _write(planned, find_root(collection), dry_run)
            if problem is not None:
                list_problems([problem])
            refused += problem is not None
            written += problem is None
    files = "1 file" if written == 1 else f"{written} files"
    print(f"{files} {'to change' if dry_run else 'changed'}")
    if refused:
        raise typer.Exit(1)


def _write(change: FileChange, root: Path, dry_run: bool) -> Problem | None:
    """Print the differences and write the file; the problem if another program has changed it."""
    for line in format_diff(change, change.path.relative_to(root).as_posix()):
        print(line)
    if dry_run:
        return None
    try:
        backup = write_change(change, backup=change.path.suffix.lower() != ".xmp")
    except WriteError:
        raise
    except InputError as error:
        return Problem(change.path, str(error))
    if backup is not None:
        print(f"the earlier {show_text(change.path.name)} is kept as {show_text(backup.name)}")
    return None
