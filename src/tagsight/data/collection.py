"""A collection: tagged photos and their vocabulary, and the problems of what was left out.

A reader turns the files of a dataset into a `Table` of rows as they are written; `collect` turns a table into a
`Collection`. A row that cannot be used becomes a `Problem`, and the other rows are kept. An InputError is raised for a
table without a usable photo; for a word that is both a noun and an adjective, since the model has one column per word;
and for a tag that is one of the `RESERVED` names.

A photo that is listed twice is kept once with the tags of both rows, and reported: such rows usually come from merged
lists, and dropping one of them would lose tags.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

from tagsight.data.synonyms import NO_SYNONYMS, Synonyms
from tagsight.data.vocabulary import Vocabulary, normalise_tag, order_words
from tagsight.errors import InputError

RESERVED = re.compile(r"background|free-\d+")
"""Names that tagsight uses itself: the class of regions without an object, and the factors without a tag."""


class Problem(NamedTuple):
    """A photo, row or folder that was left out, and the reason."""

    path: Path
    reason: str


class TaggedPhoto(NamedTuple):
    """A photo file that exists, and its tags in the order of the vocabulary."""

    path: Path
    objects: tuple[str, ...]
    attributes: tuple[str, ...]


class Collection(NamedTuple):
    """Tagged photos under one folder."""

    name: str
    root: Path
    photos: tuple[TaggedPhoto, ...]
    vocabulary: Vocabulary
    problems: tuple[Problem, ...]


class Row(NamedTuple):
    """One photo as the file of a dataset lists it; `where` is its place in the file, such as "line 7"."""

    image: str
    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    where: str


class Table(NamedTuple):
    """The rows that a reader found in the file or folder `source`; their images are relative to `root`.

    `declared` is the vocabulary in the order of the dataset, if the dataset states one.
    """

    source: Path
    root: Path
    rows: tuple[Row, ...]
    declared: Vocabulary = Vocabulary((), ())
    problems: tuple[Problem, ...] = ()


class _Gathered(NamedTuple):
    path: Path
    objects: set[str]
    attributes: set[str]


def collect(table: Table, *, name: str, synonyms: Synonyms = NO_SYNONYMS) -> Collection:
    """The collection of a table, each row checked against the disk and the vocabulary."""
    problems = list(table.problems)
    gathered = _gather(table, synonyms, problems)
    if not gathered:
        raise InputError(_explain_empty(table, problems))
    declared = Vocabulary(
        _normalise(table.declared.objects, synonyms.objects), _normalise(table.declared.attributes, synonyms.attributes)
    )
    return _assemble(Collection(name, table.root, (), declared, tuple(problems)), gathered)


def retag(collection: Collection, photos: Iterable[TaggedPhoto]) -> Collection:
    """The collection with other photos and tags, checked as `collect` does.

    Its words keep their order, and new words follow. Words that had photos before and have none now are left out.
    """
    retagged = [_Gathered(photo.path, set(photo.objects), set(photo.attributes)) for photo in photos]
    before, after = _list_used(collection.photos), _list_used(retagged)
    kept = Vocabulary(
        *(tuple(word for word in words if word in after or word not in before) for words in collection.vocabulary)
    )
    return _assemble(collection._replace(vocabulary=kept), retagged)


def _list_used(photos: Iterable["TaggedPhoto | _Gathered"]) -> set[str]:
    return {word for photo in photos for word in (*photo.objects, *photo.attributes)}


def _assemble(declared: Collection, gathered: Iterable[_Gathered]) -> Collection:
    """The collection `declared`, whose vocabulary is the declared one, with these photos."""
    gathered = list(gathered)
    vocabulary = Vocabulary(
        order_words((word for photo in gathered for word in photo.objects), declared.vocabulary.objects),
        order_words((word for photo in gathered for word in photo.attributes), declared.vocabulary.attributes),
    )
    nouns = {word: rank for rank, word in enumerate(vocabulary.objects)}
    adjectives = {word: rank for rank, word in enumerate(vocabulary.attributes)}
    photos = tuple(
        TaggedPhoto(
            photo.path,
            tuple(sorted(photo.objects, key=nouns.__getitem__)),
            tuple(sorted(photo.attributes, key=adjectives.__getitem__)),
        )
        for photo in gathered
    )
    _check_kinds(vocabulary, photos)
    _check_reserved(vocabulary)
    return declared._replace(photos=photos, vocabulary=vocabulary)


def find_listed(table: Table) -> tuple[tuple[Path, ...], tuple[Problem, ...]]:
    """The photos of a table that exist, with or without tags, and the problems of the others."""
    problems = list(table.problems)
    gathered = _gather(table, NO_SYNONYMS, problems)
    if not gathered:
        raise InputError(_explain_empty(table, problems))
    return tuple(photo.path for photo in gathered), tuple(problems)


def _gather(table: Table, synonyms: Synonyms, problems: list[Problem]) -> list[_Gathered]:
    """Keep the rows whose photo exists, one entry per photo, and add the problems of the others to `problems`."""
    photos: dict[Path, _Gathered] = {}
    for row in table.rows:
        try:
            _check_text(row)
            place = resolve_photo(table.root, row.image)
        except InputError as error:
            problems.append(Problem(_show_path(table.root, row.image), f"{row.where}: {error}"))
            continue
        if place in photos:
            reason = f"{row.where}: listed more than once; the tags of its rows are merged"
            problems.append(Problem(place, reason))
        photo = photos.setdefault(place, _Gathered(place, set(), set()))
        photo.objects.update(_normalise(row.objects, synonyms.objects))
        photo.attributes.update(_normalise(row.attributes, synonyms.attributes))
    return list(photos.values())


def resolve_photo(root: Path, image: str) -> Path:
    """The path of the photo that a row names: its name under `root`, without ``.`` and ``..``.

    The name must not lead out of the folder. A link in the folder may, since DVC and git-annex store every photo
    elsewhere and keep a link to it in the collection.
    """
    if not image.strip():
        raise InputError("no image name")
    if PurePath(image).is_absolute():
        raise InputError(f"absolute path {image!r}; write it relative to the collection's folder")
    name = os.path.normpath(image)
    if PurePath(name).parts[:1] == ("..",):
        raise InputError(f"{image!r} leads out of the collection's folder")
    place = root / name
    try:
        status = os.stat(place)
    except ValueError as error:
        raise InputError(f"{image!r} cannot be a file name") from error
    except OSError as error:
        raise InputError("a broken link" if os.path.islink(place) else "no such photo") from error
    if not stat.S_ISREG(status.st_mode):
        raise InputError("not a file")
    return place


def _check_text(row: Row) -> None:
    for text in (row.image, *row.objects, *row.attributes):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{text!r} is not valid Unicode text") from error


def _show_path(root: Path, image: str) -> Path:
    printable = image.encode("utf-8", "backslashreplace").decode("utf-8")
    return Path(printable) if PurePath(printable).is_absolute() else root / printable


def _normalise(words: Iterable[str], synonyms: Mapping[str, str]) -> tuple[str, ...]:
    tags = (normalise_tag(word) for word in words)
    return tuple(synonyms.get(tag, tag) for tag in tags if tag)


def _check_kinds(vocabulary: Vocabulary, photos: tuple[TaggedPhoto, ...]) -> None:
    both = sorted(set(vocabulary.objects) & set(vocabulary.attributes))
    if not both:
        return
    word = both[0]
    noun = next((repr(photo.path.name) for photo in photos if word in photo.objects), "the dataset's own list")
    adjective = next((repr(photo.path.name) for photo in photos if word in photo.attributes), "the dataset's own list")
    others = f" (and so are {', '.join(map(repr, both[1:6]))})" if both[1:] else ""
    raise InputError(
        f"tag {word!r} is an object in {noun} and an attribute in {adjective}{others}: rename one of the "
        "two, in the tags or by a synonyms file (from,to,kind) with a line such as "
        f"'{word},{word} thing,object'"
    )


def _check_reserved(vocabulary: Vocabulary) -> None:
    for word in vocabulary.names:
        if RESERVED.fullmatch(word):
            meaning = (
                "the class of regions without an object" if word == "background" else "the name of a discovered factor"
            )
            raise InputError(
                f"tag {word!r} cannot be used, since {word!r} is {meaning}: rename it, in the tags or by a synonyms "
                f"file (--synonyms) with a line such as '{word},{word} tag' under the header 'from,to'"
            )


def _explain_empty(table: Table, problems: list[Problem]) -> str:
    if not table.rows:
        if not problems:
            return f"{str(table.source)!r} lists no photo: add one entry per photo"
        first = f"first problem: {problems[0].path.name!r}: {problems[0].reason}"
        return f"{str(table.source)!r} lists no photo that can be used ({first})"
    first_row = problems[len(table.problems)]
    return (
        f"none of the {len(table.rows)} photos in {str(table.source)!r} can be used (first problem: "
        f"{str(first_row.path)!r}: {first_row.reason}): image names must be relative to {str(table.root)!r}"
    )
