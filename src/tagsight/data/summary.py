"""The counts of a collection that `tagsight inspect` prints."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.collection import Collection, Problem, TaggedPhoto
from tagsight.data.listing import list_photos

RARE_BELOW = 5
"""Tags on fewer photos than this are reported as rare: too few photos to learn from."""

_SHOWN = 10


class TagCount(NamedTuple):
    """A tag and the number of photos that have it."""

    name: str
    photos: int


class Summary(NamedTuple):
    """Counts of one collection; tags in the order of its vocabulary."""

    name: str
    root: Path
    photos: int
    objects: tuple[TagCount, ...]
    attributes: tuple[TagCount, ...]
    objects_per_photo: float
    attributes_per_photo: float
    rare_below: int
    rare: tuple[str, ...]
    untagged: tuple[Path, ...]
    unlisted: tuple[Path, ...]
    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values: dicts, lists, strings and numbers."""
        return self._asdict() | {
            "root": str(self.root),
            "objects": [count._asdict() for count in self.objects],
            "attributes": [count._asdict() for count in self.attributes],
            "rare": list(self.rare),
            "untagged": [str(path) for path in self.untagged],
            "unlisted": [str(path) for path in self.unlisted],
            "problems": [{"path": str(problem.path), "reason": problem.reason} for problem in self.problems],
        }


def summarise(collection: Collection, *, rare_below: int = RARE_BELOW) -> Summary:
    """Count the photos and tags of a collection, and find the photos on disk that it does not list.

    `unlisted` also has the photos of other splits of a dataset, if they are in the same folder.
    """
    photos = collection.photos
    objects = _count(collection.vocabulary.objects, (photo.objects for photo in photos))
    attributes = _count(collection.vocabulary.attributes, (photo.attributes for photo in photos))
    listing = list_photos(collection.root)
    return Summary(
        name=collection.name,
        root=collection.root,
        photos=len(photos),
        objects=objects,
        attributes=attributes,
        objects_per_photo=sum(count.photos for count in objects) / len(photos),
        attributes_per_photo=sum(count.photos for count in attributes) / len(photos),
        rare_below=rare_below,
        rare=tuple(count.name for count in objects + attributes if count.photos < rare_below),
        untagged=tuple(photo.path for photo in photos if not photo.objects and not photo.attributes),
        unlisted=_find_unlisted(photos, listing.photos),
        problems=tuple(dict.fromkeys(collection.problems + listing.problems)),
    )


def find_weaknesses(collection: Collection, *, fewest_photos: int, rare_below: int = RARE_BELOW) -> list[str]:
    """Sentences on what limits a model of a collection; with fewer than `fewest_photos` it is not calibrated."""
    photos = collection.photos
    untagged = sum(not photo.objects and not photo.attributes for photo in photos)
    counts = _count(collection.vocabulary.objects, (photo.objects for photo in photos))
    counts += _count(collection.vocabulary.attributes, (photo.attributes for photo in photos))
    rare = [repr(count.name) for count in counts if count.photos < rare_below]
    found: list[str] = []
    if len(photos) < fewest_photos:
        found.append(f"number of photos: {len(photos)}; with fewer than {fewest_photos}, scores are not calibrated")
    if untagged:
        found.append(
            f"photos without a tag: {untagged} of {len(photos)}; they are used as negative examples of every tag"
        )
    if rare:
        shown = ", ".join(rare[:_SHOWN]) + (", ..." if len(rare) > _SHOWN else "")
        found.append(
            f"tags on fewer than {rare_below} photos: {len(rare)} of {len(counts)} ({shown}); add photos of them"
        )
    return found


def _count(vocabulary: tuple[str, ...], tags: Iterable[tuple[str, ...]]) -> tuple[TagCount, ...]:
    counts = Counter(word for words in tags for word in words)
    return tuple(TagCount(word, counts[word]) for word in vocabulary)


def _find_unlisted(photos: tuple[TaggedPhoto, ...], on_disk: tuple[Path, ...]) -> tuple[Path, ...]:
    listed = {os.path.abspath(photo.path) for photo in photos}
    return tuple(path for path in on_disk if os.path.abspath(path) not in listed)
