"""Collections for review, and collections with the decisions of their journal applied."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from tagsight.data.collection import Collection, Problem, TaggedPhoto, resolve_photo, retag
from tagsight.data.listing import list_photos
from tagsight.data.readers import READERS, detect_format, open_collection
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.review.journal import locate_journal, read_current
from tagsight.review.records import Decision, Entry, Kind, check_decision
from tagsight.types import Array

PathInput = Path | str


class OpenArguments(TypedDict, total=False):
    """The keyword arguments of `open_collection`, except colours."""

    format: str | None
    split: str | None
    synonyms: PathInput | None
    words: PathInput | None
    images: PathInput | None


class DecidedCollection(NamedTuple):
    """A collection with decisions applied."""

    collection: Collection
    negatives: Array  # (I, K_o + K_a) uint8, 1 where a decision says that the photo does not have the word
    n_decisions: int  # that were applied
    journal: Path | None  # that they are from; None: none were applied


def open_for_review(place: Path, **options: Unpack[OpenArguments]) -> Collection:
    """The collection in a folder with all its photos, tagged or not.

    A folder without a tags file is a collection without tags. In a folder with tags.csv or tags.jsonl, photos that the
    file does not list have no tags. Other formats have the photos that they list.
    """
    if _is_untagged(place, options):
        return _add_unlisted(_open_untagged(place))
    collection = open_collection(place, **options)
    format = options.get("format")
    return _add_unlisted(collection) if (format or detect_format(place)) == "folder" else collection


def open_decided(
    place: Path, *, decisions: bool = True, journal: PathInput | None = None, **options: Unpack[OpenArguments]
) -> DecidedCollection:
    """The collection in a folder with the decisions of a journal applied, by default those of its own journal.

    A folder without a tags file is a collection if it has decisions. Decided photos that do not exist are problems.
    """
    given = None if journal is None else Path(journal)
    if decisions and given is not None and not given.exists():
        raise InputError(f"there is no journal {str(given)!r}: give the path of one, or leave it out")
    if decisions and _is_untagged(place, options) and (given or locate_journal(place)).exists():
        collection = _open_untagged(place)
    else:
        collection = open_collection(place, **options)
    path = given or locate_journal(collection.root)
    entries = read_current(path) if decisions else []
    if not entries:
        shape = (len(collection.photos), len(collection.vocabulary.names))
        return DecidedCollection(collection, np.zeros(shape, np.uint8), 0, None)
    kept, problems = _check_photos(collection, entries)
    decided = apply_decisions(collection._replace(problems=collection.problems + problems), kept)
    if not decided.collection.photos:
        raise InputError(f"the journal {str(path)!r} has no decision about a photo in {str(place)!r}")
    return decided._replace(journal=path)


def apply_decisions(collection: Collection, entries: Iterable[Entry]) -> DecidedCollection:
    """The collection with the current decisions applied: yes adds a tag, no removes it and is an explicit negative.

    Photos with decisions that the collection lacks are added after its own, in the order of their paths.
    """
    by_photo: dict[str, list[Entry]] = {}
    for entry in entries:
        by_photo.setdefault(entry.photo, []).append(entry)
    photos = {name_photo(collection, photo.path): photo for photo in collection.photos}
    for name in sorted(by_photo.keys() - photos.keys()):
        photos[name] = TaggedPhoto(collection.root / name, (), ())
    retagged = retag(collection, [_apply(photo, by_photo.get(name, ())) for name, photo in photos.items()])
    columns = list_columns(retagged.vocabulary)
    negatives = np.zeros((len(photos), len(columns)), np.uint8)
    for row, name in enumerate(photos):
        for entry in by_photo.get(name, ()):
            column = columns.get((entry.kind, entry.word))
            if entry.state == "no" and column is not None:
                negatives[row, column] = 1
    return DecidedCollection(retagged, negatives, sum(map(len, by_photo.values())), None)


def name_photo(collection: Collection, path: Path) -> str:
    """The name of a photo in the journal: its path relative to the collection's folder, with /."""
    return path.relative_to(collection.root).as_posix()


def find_name(root: Path, text: str) -> str:
    """The name of a photo that is given by its path in the folder `root` or in the current folder."""
    place = Path(os.path.abspath(text))
    from_here = os.path.isabs(text) or not (root / text).exists()
    if from_here and place.exists() and place.is_relative_to(os.path.abspath(root)):
        return place.relative_to(os.path.abspath(root)).as_posix()
    return os.path.normpath(text)


def check_decisions(decisions: Iterable[Decision], collection: Collection, entries: Iterable[Entry]) -> list[Decision]:
    """The decisions, checked against a collection and the current decisions of its journal.

    InputError for a photo that is not in the collection, and for a word that is of the other kind there.
    """
    photos = {name_photo(collection, photo.path) for photo in collection.photos}
    kinds = list_kinds(collection, entries)
    checked: list[Decision] = []
    for decision in map(check_decision, decisions):
        if decision.photo not in photos:
            raise InputError(f"there is no photo {decision.photo!r} in {str(collection.root)!r}; nothing was recorded")
        if kinds.setdefault(decision.word, decision.kind) != decision.kind:
            known = kinds[decision.word]
            raise InputError(f"{decision.word!r} is an {known} here, not an {decision.kind}; nothing was recorded")
        checked.append(decision)
    return checked


def list_kinds(collection: Collection, entries: Iterable[Entry]) -> dict[str, Kind]:
    """The kind of each word of a collection and of the decisions about it."""
    kinds: dict[str, Kind] = {entry.word: entry.kind for entry in entries}
    kinds.update(dict.fromkeys(collection.vocabulary.objects, "object"))
    kinds.update(dict.fromkeys(collection.vocabulary.attributes, "attribute"))
    return kinds


def list_columns(vocabulary: Vocabulary) -> Mapping[tuple[str, str], int]:
    """The column of each kind and word."""
    words = [("object", word) for word in vocabulary.objects] + [("attribute", word) for word in vocabulary.attributes]
    return {word: column for column, word in enumerate(words)}


def _apply(photo: TaggedPhoto, entries: Iterable[Entry]) -> TaggedPhoto:
    tags = {"object": set(photo.objects), "attribute": set(photo.attributes)}
    for entry in entries:
        if entry.state == "yes":
            tags[entry.kind].add(entry.word)
        elif entry.state == "no":
            tags[entry.kind].discard(entry.word)
    return TaggedPhoto(photo.path, tuple(sorted(tags["object"])), tuple(sorted(tags["attribute"])))


def _check_photos(collection: Collection, entries: Iterable[Entry]) -> tuple[list[Entry], tuple[Problem, ...]]:
    """The decisions whose photos exist, and a problem for each other photo."""
    reasons: dict[str, str | None] = {name_photo(collection, photo.path): None for photo in collection.photos}
    kept: list[Entry] = []
    for entry in entries:
        if entry.photo not in reasons:
            reasons[entry.photo] = _find_fault(collection.root, entry.photo)
        if reasons[entry.photo] is None:
            kept.append(entry)
    faults = [(photo, reason) for photo, reason in reasons.items() if reason is not None]
    return kept, tuple(
        Problem(Path(photo), f"the journal has decisions about it: {reason}") for photo, reason in faults
    )


def _find_fault(root: Path, photo: str) -> str | None:
    """Why a name in a journal is not that of a photo under `root`, or None if it is."""
    try:
        resolve_photo(root, photo)
    except InputError as error:
        return str(error)
    return None


def _is_untagged(place: Path, options: OpenArguments) -> bool:
    """Whether a place is a folder without the files of any format, and no option asks for one."""
    if any(value is not None for value in options.values()) or not place.is_dir():
        return False
    return not any(reader.fits(place) for reader in READERS.values())


def _open_untagged(place: Path) -> Collection:
    return Collection(place.resolve().name, place, (), Vocabulary((), ()), ())


def _add_unlisted(collection: Collection) -> Collection:
    """The collection with the photos in its folder that it does not list, after its own."""
    listing = list_photos(collection.root)
    listed = {photo.path for photo in collection.photos}
    unlisted = tuple(TaggedPhoto(path, (), ()) for path in listing.photos if path not in listed)
    if not listed and not unlisted:
        raise InputError(f"there is no photo in {str(collection.root)!r}: give a folder of photos")
    problems = tuple(dict.fromkeys(collection.problems + listing.problems))
    return collection._replace(photos=collection.photos + unlisted, problems=problems)
