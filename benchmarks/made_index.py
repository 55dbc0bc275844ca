"""An index of synthetic photos, written as real ones are.

A photo has two objects; each covers a patch of 4 to 16 neighbouring regions of 80 and has six attributes, probable
there (Beta(4, 2)). Elsewhere all factors are improbable, with a long tail (0.6 u^12, u uniform). With `flat`, every
factor of every region is uniform and independent instead: then no photo can be skipped.
"""

from pathlib import Path

import numpy as np

from tagsight.index.manifest import Manifest, Part, read_manifest, write_manifest
from tagsight.index.part_file import IndexedPhoto, encode_label_map
from tagsight.index.parts import remove_unused, tidy_parts, write_part
from tagsight.predict.probabilities import RegionLabels, to_levels
from tagsight.types import Array

PART = 4096
REGIONS, OBJECTS, ATTRIBUTES = 80, 20, 64
FACTORS = OBJECTS + ATTRIBUTES
NOTHING = RegionLabels(np.zeros(REGIONS, np.int64), np.ones(REGIONS))
LABELS = encode_label_map(np.arange(REGIONS).reshape(8, 10).repeat(30, axis=0).repeat(30, axis=1))
BOXES = np.array([(40 * (r % 10), 40 * (r // 10), 40 * (r % 10) + 40, 40 * (r // 10) + 40) for r in range(REGIONS)])


def make_index(folder: Path, n_photos: int, *, flat: bool = False, seed: int = 0) -> None:
    """Write the index; the same seed gives the same photos."""
    rng = np.random.default_rng(seed)
    parts: list[Part] = []
    for start in range(0, n_photos, PART):
        numbers = range(start, min(start + PART, n_photos))
        parts.append(write_part(folder, [make_photo(rng, number, flat) for number in numbers]))
    whole = tidy_parts(folder, parts)
    names = [f"object{k}" for k in range(OBJECTS)], [f"attribute{k}" for k in range(ATTRIBUTES)]
    write_manifest(folder, Manifest(1, "/", "0" * 64, tuple(names[0]), tuple(names[1]), 0, n_photos, whole))
    remove_unused(folder, read_manifest(folder))


def make_photo(rng: np.random.Generator, number: int, flat: bool) -> IndexedPhoto:
    """One photo of 400 x 320 pixels on a grid of regions."""
    levels = to_levels(rng.random((REGIONS, FACTORS), np.float32) if flat else draw_posterior(rng))
    return IndexedPhoto(number, f"{number:07}.jpg", (400, 320), 0, 0, BOXES, levels, LABELS, NOTHING)


def draw_posterior(rng: np.random.Generator) -> Array:
    """(REGIONS, FACTORS) probabilities."""
    posterior = 0.6 * rng.random((REGIONS, FACTORS), np.float32) ** 12
    for name in rng.choice(OBJECTS, 2, replace=False):
        size = rng.integers(4, 17)
        first = rng.integers(0, REGIONS - size)
        factors = [name, *(OBJECTS + rng.choice(ATTRIBUTES, 6, replace=False))]
        posterior[first : first + size, factors] = rng.beta(4, 2, (size, len(factors)))
    return posterior
