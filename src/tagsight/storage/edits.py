"""Edits of text files of the user: every character outside the edits is kept, and other programs' changes are noticed.

A `FileChange` holds the content that was read and the edits of it. It is written only if the file still has that
content.
"""

import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagsight.errors import InputError
from tagsight.runtime.messages import escape_text
from tagsight.storage.files import read_bytes, replace_file

CONTEXT = 3  # unchanged lines around a change in a diff
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


class Edit(NamedTuple):
    """The characters from `start` to `end` are replaced by `text`."""

    start: int
    end: int
    text: str


class FileChange(NamedTuple):
    """The edits of a file; edits do not overlap. `before` is its content, None if there is no file yet."""

    path: Path
    before: str | None
    edits: tuple[Edit, ...]

    @property
    def after(self) -> bytes:
        """The new content, in UTF-8."""
        return apply_edits(self.before or "", self.edits).encode()


def decode_file(path: Path, content: bytes) -> str:
    """The text of a UTF-8 file, with its byte order mark if it has one, so that encoding it gives the same bytes."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not in UTF-8: save it as UTF-8") from error


def check_editable(path: Path) -> None:
    """Raise InputError for a link, whose target may belong to others, for what is no file, and for read-only files."""
    if path.is_symlink():
        raise InputError(f"{str(path)!r} is a link, and its target is not changed: put a copy of the file in its place")
    if not path.is_file():
        raise InputError(f"{str(path)!r} is not a file: move it away")
    if not os.access(path, os.W_OK):
        raise InputError(f"{str(path)!r} is write-protected: allow writing to it")


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits applied."""
    pieces: list[str] = []
    place = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*pieces, text[place:]])


def write_change(change: FileChange, *, backup: bool = False) -> Path | None:
    """Write a change atomically, with the permissions of the file; returns the path of the backup.

    Raises InputError, and writes nothing, if the file is not as it was read.
    """
    saved: Path | None = None
    with replace_file(change.path) as file:
        file.write(change.after)
        _check_unchanged(change)
        if change.before is not None:
            check_editable(change.path)
            shutil.copymode(change.path, file.name)
        if backup and change.before is not None:
            saved = _save_backup(change.path, change.before.encode())
    return saved


def _check_unchanged(change: FileChange) -> None:
    if change.before is None:
        unchanged = not os.path.lexists(change.path)
    else:
        unchanged = read_bytes(change.path) == change.before.encode()
    if not unchanged:
        raise InputError(
            f"{str(change.path)!r} was changed by another program after it was read, so it is not written: "
            "run the command again"
        )


def _save_backup(path: Path, content: bytes) -> Path:
    """Write `NAME.bak`, or `NAME.bak.1` and so on if earlier backups exist."""
    number = 0
    while True:
        place = path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}")
        try:
            with place.open("xb") as file:
                shutil.copymode(path, place)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            number += 1
        else:
            return place


class _Block(NamedTuple):
    """Lines `first` to `last` (exclusive) and what replaces them."""

    first: int
    last: int
    new: tuple[str, ...]


def format_diff(change: FileChange, name: str) -> Iterator[str]:
    """The lines of a unified diff; characters that could control a terminal are escaped."""
    text = change.before or ""
    lines = _LINE.findall(text)
    blocks = _find_blocks(text, lines, change.edits)
    if blocks:
        shown = escape_text(name)
        yield "--- /dev/null" if change.before is None else f"--- {shown}"
        yield f"+++ {shown}"
    shift = 0
    for hunk in _join_blocks(blocks):
        first, last = max(hunk[0].first - CONTEXT, 0), min(hunk[-1].last + CONTEXT, len(lines))
        grown = sum(len(block.new) - (block.last - block.first) for block in hunk)
        yield f"@@ -{_span(first, last - first)} +{_span(first + shift, last - first + grown)} @@"
        shift += grown
        place = first
        for block in hunk:
            yield from _prefix(" ", lines[place : block.first])
            yield from _prefix("-", lines[block.first : block.last])
            yield from _prefix("+", block.new)
            place = block.last
        yield from _prefix(" ", lines[place:last])


def _find_blocks(text: str, lines: list[str], edits: Iterable[Edit]) -> list[_Block]:
    """The lines that edits touch, each run of lines once."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    spans: list[tuple[int, int, list[Edit]]] = []
    ends_open = bool(lines) and not lines[-1].endswith(("\n", "\r"))
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        first = bisect_right(starts, edit.start) - 1
        if edit.start == len(text):
            first = len(lines) - ends_open
        last = max(bisect_right(starts, max(edit.end - 1, edit.start)), first)
        last = min(max(last, first + (first < len(lines))), len(lines))
        if spans and first < spans[-1][1]:
            earlier = spans.pop()
            spans.append((earlier[0], max(last, earlier[1]), [*earlier[2], edit]))
        else:
            spans.append((first, last, [edit]))
    blocks: list[_Block] = []
    for first, last, inside in spans:
        offset = starts[first]
        moved = [edit._replace(start=edit.start - offset, end=edit.end - offset) for edit in inside]
        new = apply_edits(text[offset : starts[last]], moved)
        blocks.append(_Block(first, last, tuple(_LINE.findall(new))))
    return blocks


def _join_blocks(blocks: list[_Block]) -> list[list[_Block]]:
    """Blocks in hunks: those whose context would overlap are in one hunk."""
    hunks: list[list[_Block]] = []
    for block in blocks:
        if hunks and block.first - hunks[-1][-1].last <= 2 * CONTEXT:
            hunks[-1].append(block)
        else:
            hunks.append([block])
    return hunks


def _span(start: int, length: int) -> str:
    return f"{start + 1 if length else start},{length}"


def _prefix(sign: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield sign + escape_text(line.rstrip("\r\n").removeprefix("\ufeff"))
