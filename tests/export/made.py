"""Records of photos, hand-made or random, and rasterisers that share no code with the exporters."""

from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagsight.data.collection import Problem
from tagsight.data.vocabulary import Vocabulary
from tagsight.export.output import OutputFile, Target, WriteFiles
from tagsight.export.record import ExportedPhoto, Instance
from tagsight.predict.annotate import Attribute
from tagsight.types import Array

VOCABULARY = Vocabulary(("horse", "car"), ("furry", "shiny"))
TARGET = Target(VOCABULARY, Path("/nowhere"))

RING = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]])
DETACHED = np.array([[1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 1]])  # one piece of two pixels, three of one
ONE_PIXEL = np.array([[0, 0, 0], [0, 0, 1]])
RING_IN_RING = np.pad(np.pad(np.array([[1]]), 1), 1, constant_values=1)
AWKWARD = {"ring": RING, "detached": DETACHED, "one pixel": ONE_PIXEL, "ring in ring": RING_IN_RING}

masks = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)).filter(np.any)
owners = hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=10), elements=st.integers(0, 3))


def make_photo(
    owner: Array, name: str = "a.jpg", *, path: Path | None = None, vocabulary: Vocabulary = VOCABULARY
) -> ExportedPhoto:
    """A photo with an instance for each number of a map; categories alternate, and each has every attribute."""
    numbers = np.unique(owner[owner > 0])
    dense = np.searchsorted(numbers, owner) + 1
    instances: list[Instance] = []
    for n in range(len(numbers)):
        y, x = np.nonzero(owner == numbers[n])
        category = n % len(vocabulary.objects)
        attributes = tuple(Attribute(word, 0.9 - 0.1 * k) for k, word in enumerate(vocabulary.attributes))
        box = (int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)
        instances.append(Instance(vocabulary.objects[category], category, 0.875 - n / 8, attributes, box))
    size = (owner.shape[1], owner.shape[0])
    return ExportedPhoto(
        path or Path("/photos") / name, name, size, tuple(instances), np.where(owner > 0, dense, 0).astype(np.uint16)
    )


def make_files(format: WriteFiles, *photos: ExportedPhoto, target: Target = TARGET) -> dict[str, bytes]:
    """The files of an export that has no problems."""
    made = list(format(iter(photos), target))
    assert not any(isinstance(one, Problem) for one in made), made
    return {
        (one.name if isinstance(one, OutputFile) else one.path.relative_to(target.folder).as_posix()): (
            one.content if isinstance(one, OutputFile) else one.after
        )
        for one in made
        if not isinstance(one, Problem)
    }


def fill_polygon(polygon: Array, shape: tuple[int, ...]) -> Array:
    """Winding number of a polygon (n, 2) around each pixel's centre, from the sides that cross the ray to its right."""
    winding = np.zeros(shape, int)
    centre_y, centre_x = np.indices(shape) + 0.5
    for (xa, ya), (xb, yb) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        crosses = (np.minimum(ya, yb) < centre_y) & (centre_y < np.maximum(ya, yb))
        with np.errstate(divide="ignore", invalid="ignore"):
            x = xa + (centre_y - ya) * (xb - xa) / (yb - ya)
        winding += np.where(crosses & (x > centre_x), np.sign(yb - ya), 0).astype(int)
    return winding


def fill_polygons(polygons: list[Array], shape: tuple[int, ...]) -> Array:
    """The union of the polygons filled by winding; filling by the even-odd rule must agree."""
    union = np.zeros(shape, bool)
    for polygon in polygons:
        winding = fill_polygon(polygon, shape)
        assert np.array_equal(winding != 0, winding % 2 == 1)
        assert not np.any(union & (winding != 0))
        union |= winding != 0
    return union
