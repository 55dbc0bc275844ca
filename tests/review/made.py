"""Small collections of empty files, and indexes with chosen probabilities for them."""

from pathlib import Path

import numpy as np

from tagsight.data.collection import Collection
from tagsight.index import Index, open_index
from tagsight.review.decided import open_for_review
from tagsight.review.journal import open_journal
from tagsight.review.records import Entry
from tagsight.types import Array
from tests.index.made import NO_PARTS, K, make_photo, put_photos

TAGS = {"a.jpg": "horse,furry", "b.jpg": "horse,", "c/d.jpg": "car,shiny", "e.jpg": ","}


def put_collection(root: Path, tags: dict[str, str] = TAGS) -> Path:
    """A folder of photos, which are empty files, with tags.csv."""
    for name in tags:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    lines = [f"{name},{words}" for name, words in tags.items()]
    (root / "tags.csv").write_text("\n".join(["image,objects,attributes", *lines, ""]))
    return root


def put_index(folder: Path, collection: Collection, posteriors: list[Array]) -> Index:
    """An index of the photos of a collection, in its order, with these probabilities (R, K) of regions."""
    names = [photo.path.relative_to(collection.root).as_posix() for photo in collection.photos]
    photos = [make_photo(n, one, path=name) for n, (name, one) in enumerate(zip(names, posteriors, strict=False))]
    put_photos(folder, [photos[:2], photos[2:]], NO_PARTS._replace(root=str(collection.root)))
    return open_index(folder)


def draw_index(tmp_path: Path, n_photos: int = 12, *, seed: int = 0, steps: int = 0) -> tuple[Collection, Index]:
    """A collection with random tags, and an index of it with random probabilities."""
    rng = np.random.default_rng(seed)
    objects, attributes = ["horse", "car", "bus", ""], ["furry", "shiny", ""]
    tags = {f"{n:02}.jpg": f"{rng.choice(objects)},{rng.choice(attributes)}" for n in range(n_photos)}
    collection = open_for_review(put_collection(tmp_path / "photos", tags))
    posteriors = [rng.random((3, K)) for _ in tags]
    if steps:
        posteriors = [np.round(one * steps) / steps for one in posteriors]
    return collection, put_index(tmp_path / "index", collection, posteriors)


def decide(path: Path, *decisions: tuple[str, str, str, str]) -> list[Entry]:
    """Record decisions (photo, kind, word, state) in a journal; returns its current decisions."""
    from tagsight.review.records import Decision

    with open_journal(path) as journal:
        journal.append([Decision(*one) for one in decisions], author="ann")  # pyright: ignore[reportArgumentType]
        return journal.list_current()
