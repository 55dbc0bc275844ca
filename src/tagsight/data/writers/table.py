"""Changes of tags in `tags.csv` or `tags.jsonl`: rows of the changed photos are edited, new photos are appended."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem
from tagsight.data.readers import READERS
from tagsight.data.readers.rows import find_table, is_table
from tagsight.data.tag_changes import Kind, TagChange, Wanted, check_photo, clean_word, group_changes
from tagsight.data.vocabulary import normalise_tag
from tagsight.data.writers.csv_tags import HEADER, CsvTags
from tagsight.data.writers.jsonl_tags import JsonlTags
from tagsight.data.writers.rows import COLUMN_OF, NewRow, TagRow, TagsTable
from tagsight.errors import InputError
from tagsight.storage.edits import Edit, FileChange, apply_edits, check_editable, decode_file
from tagsight.storage.files import read_bytes


class TableChange(NamedTuple):
    """The change of a tags file, and the changes of tags that cannot be made."""

    file: FileChange
    problems: tuple[Problem, ...]


class _Words(NamedTuple):
    """The words of a file: the kind of each tag, and its first spelling of each kind."""

    kinds: dict[str, Kind]
    spellings: dict[tuple[str, Kind], str]


def plan_table_change(collection: Path, changes: Iterable[TagChange]) -> TableChange:
    """The change of the tags file of a collection, which is a folder or its tags file; nothing is written.

    A file `tags.csv` is made in a folder that is no collection yet. InputError for collections of other formats.
    """
    source, before = _read_source(collection)
    text = HEADER if before is None else before
    table: TagsTable = (JsonlTags if source.suffix.lower() == ".jsonl" else CsvTags)(source, text)
    listed: dict[str, list[TagRow]] = {}
    for row in table.rows:
        listed.setdefault(os.path.normpath(row.image), []).append(row)
    words = _list_words(table)
    problems: list[Problem] = []
    edits: list[Edit] = []
    new: list[NewRow] = []
    for wanted in group_changes(changes):
        try:
            rows = listed.get(wanted.photo, [])
            check_photo(source.parent, wanted.photo, listed=bool(rows))
            _check_rows(rows)
        except InputError as error:
            problems.append(Problem(source.parent / wanted.photo, str(error)))
            continue
        added = _choose_added(table, rows, wanted, words, problems, source.parent)
        if rows:
            edits += _edit_rows(table, rows, wanted, added)
        elif any(added.values()):
            new.append(NewRow(Path(wanted.photo).as_posix(), added))
    if new:
        edits.append(table.append_rows(new))
    if before is None and edits:
        edits = [Edit(0, 0, apply_edits(text, edits))]
    return TableChange(FileChange(source, before, tuple(edits)), tuple(problems))


def _read_source(collection: Path) -> tuple[Path, str | None]:
    """The path of the tags file and its content, None if it is to be made."""
    if not collection.exists():
        raise InputError(f"{str(collection)!r} does not exist: give the folder of the photos or its tags file")
    if collection.is_dir() and not is_table(collection, "tags"):
        others = [name for name, reader in READERS.items() if reader.fits(collection)]
        if others:
            raise InputError(
                f"{str(collection)!r} is a collection of the format {others[0]}, which is not written: "
                "only tags.csv, tags.jsonl and XMP sidecars are (--to xmp)"
            )
        return collection / "tags.csv", None
    source = find_table(collection, "tags")
    if source.suffix.lower() not in (".csv", ".jsonl"):
        raise InputError(f"{str(source)!r} is neither .csv nor .jsonl: give the folder or its tags file")
    check_editable(source)
    return source, decode_file(source, read_bytes(source))


def _list_words(table: TagsTable) -> _Words:
    spelt: dict[tuple[str, Kind], None] = {}
    for row in table.rows:
        for kind, tags in row.tags.items():
            spelt.update(dict.fromkeys((word, kind) for word in tags))
    words = _Words({}, {})
    for word, kind in spelt:
        tag = normalise_tag(word)
        words.kinds.setdefault(tag, kind)
        words.spellings.setdefault((tag, kind), word.strip())
    return words


def _check_rows(rows: list[TagRow]) -> None:
    for row in rows:
        if row.problem is not None:
            raise InputError(f"{row.where}: {row.problem}: correct that line first")


def _choose_added(
    table: TagsTable,
    rows: list[TagRow],
    wanted: Wanted,
    words: _Words,
    problems: list[Problem],
    root: Path,
) -> Mapping[Kind, list[str]]:
    """The words of each kind that a photo lacks; words that cannot be written are added to `problems`."""
    added: dict[Kind, list[str]] = {kind: [] for kind in COLUMN_OF}
    for change in wanted.changes:
        tag = normalise_tag(change.word)
        has = any(tag == normalise_tag(word) for row in rows for word in row.tags.get(change.kind, ()))
        if not change.present or has:
            continue
        try:
            word = words.spellings.get((tag, change.kind)) or clean_word(change.word)
            kind = words.kinds.get(tag, change.kind)
            if kind != change.kind:
                raise InputError(f"{word!r} is an {kind} in this collection, and a word has one kind: choose another")
            table.check_word(word, change.kind, rows[0] if rows else None)
        except InputError as error:
            problems.append(Problem(root / wanted.photo, str(error)))
            continue
        words.kinds[tag] = change.kind
        words.spellings.setdefault((tag, change.kind), word)
        added[change.kind].append(word)
    return added


def _edit_rows(table: TagsTable, rows: list[TagRow], wanted: Wanted, added: Mapping[Kind, list[str]]) -> list[Edit]:
    """The edits of the rows of one photo; words are added to its first row and removed from all."""
    edits: list[Edit] = []
    for row in rows:
        for kind in COLUMN_OF:
            unwanted = {normalise_tag(one.word) for one in wanted.changes if one.kind == kind and not one.present}
            removed = unwanted & {normalise_tag(word) for word in row.tags.get(kind, ())}
            new = added[kind] if row is rows[0] else []
            if removed or new:
                edits.append(table.edit_row(row, kind, removed, new))
    return edits
