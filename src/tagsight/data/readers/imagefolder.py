"""A Hugging Face imagefolder: ``metadata.csv`` or ``metadata.jsonl`` with the column ``file_name``.

Tags are in the columns ``objects`` and ``attributes``, or all in ``tags``, which needs a word list to tell nouns from
adjectives. In CSV, the items of a list are separated by ``;``. ``objects`` may also be the dict of Hugging Face's
detection datasets: its ``categories`` (or ``category``) are read if they are names. A dataset with one metadata file
per split (``train/metadata.csv``) is opened with ``split``. Other columns are ignored.
"""

from pathlib import Path
from typing import Any

from tagsight.data.collection import Row, Table
from tagsight.data.jsonvalues import is_object
from tagsight.data.readers.reader import Options, Reader, report_unknown
from tagsight.data.readers.rows import find_table, is_table, make_rows, read_image, read_records, read_tags
from tagsight.data.textfiles import Record
from tagsight.data.wordlist import load_wordlist, sort_words
from tagsight.errors import InputError


def read(path: Path, options: Options) -> Table:
    """Read one metadata file."""
    source = find_table(_choose_folder(path, options.split), "metadata")
    table = read_records(source)
    if table.columns and "file_name" not in table.columns:
        raise InputError(f"{str(source)!r} has no column 'file_name' (it has {', '.join(table.columns)}): add it")
    if {"objects", "attributes"} & set(table.columns):
        if options.words:
            raise InputError(f"{str(source)!r} tells objects from attributes itself: leave the word list out")
        rows = make_rows(source, table, _make_row)
        return Table(source, source.parent, rows.rows, problems=rows.problems)
    if table.columns and "tags" not in table.columns:
        raise InputError(
            f"{str(source)!r} has no tags (its columns: {', '.join(table.columns)}): "
            "add 'objects' and 'attributes', or 'tags'"
        )
    if options.words is None:
        raise InputError(
            f"{str(source)!r} does not tell objects from attributes: give a word list (word,kind), or "
            "name the column 'objects' if all its tags are nouns"
        )
    wordlist = load_wordlist(options.words)
    unknown: dict[str, None] = {}

    def make_row(record: Record) -> Row:
        words = sort_words(wordlist, read_tags(record, "tags"))
        unknown.update(dict.fromkeys(words.unknown))
        return Row(read_image(record, "file_name"), words.objects, words.attributes, record.where)

    rows = make_rows(source, table, make_row)
    return Table(source, source.parent, rows.rows, problems=rows.problems + report_unknown(options.words, unknown))


def _make_row(record: Record) -> Row:
    return Row(read_image(record, "file_name"), _fit_objects(record), read_tags(record, "attributes"), record.where)


def _fit_objects(record: Record) -> tuple[str, ...]:
    value: Any = record.values.get("objects")
    if not is_object(value):
        return read_tags(record, "objects")
    key = next((key for key in ("categories", "category") if key in value), None)
    if key is None:
        raise InputError(f"'objects' has the keys {', '.join(value)}, not 'categories'")
    return read_tags(Record(record.where, value), key)


def _choose_folder(path: Path, split: str | None) -> Path:
    splits = _find_splits(path)
    if split is None:
        if splits and not is_table(path, "metadata"):
            raise InputError(f"{str(path)!r} has splits: choose one of {', '.join(splits)}")
        return path
    if split not in splits:
        known = ", ".join(splits) or "none"
        raise InputError(f"{str(path)!r} has no split {split!r} with a metadata file; splits: {known}")
    return path / split


def _find_splits(path: Path) -> list[str]:
    if not path.is_dir():
        return []
    return sorted(folder.name for folder in path.iterdir() if folder.is_dir() and is_table(folder, "metadata"))


def _fits(path: Path) -> bool:
    return is_table(path, "metadata") or bool(_find_splits(path))


READER = Reader(
    "metadata.csv or metadata.jsonl, here or in one folder per split",
    _fits,
    read,
    takes=frozenset({"split", "words"}),
)
