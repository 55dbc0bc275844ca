"""A collection of rendered photos on disk: tagged photos for training, and the ground truth."""

import csv
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image

from tagsight.demo.backdrops import PLACES, draw_backdrop
from tagsight.demo.brush import paint_sprite
from tagsight.demo.scene import ATTRIBUTES, SIZE, Scene, plan_scene
from tagsight.demo.shapes import SHAPES
from tagsight.demo.truth import (
    FOLDER,
    Instance,
    PhotoTruth,
    Split,
    Truth,
    write_masks,
    write_truth,
)
from tagsight.errors import InputError
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array

HIDDEN_ATTRIBUTE = "jagged"
"""The attribute that is drawn like any other and never tagged: a free factor should discover it.

It is independent of the other attributes. A colour or a pattern would be unsuitable: every object has exactly one, so a
model can represent the untagged one by the objects, and the tagged ones by the differences from it.
"""

TEST_SHARE = 80 / 300
_SPLITS: tuple[Split, Split] = ("train", "test")


class Shot(NamedTuple):
    """A rendered scene."""

    scene: Scene
    pixels: Array  # (h, w, 3) uint8
    instances: Array  # (h, w) uint8: the number of the visible sprite in the scene, from 1; 0: none


def render_collection(folder: Path | str, *, n_photos: int = 300, seed: int = 0) -> Truth:
    """Render photos into `folder`/train and `folder`/test, each with tags.csv, and `folder`/truth.

    The same seed gives the same bytes. Photo i does not depend on the number of photos, except for its split: the last
    TEST_SHARE of them are for testing. Tags name everything in a photo but HIDDEN_ATTRIBUTE.
    """
    if n_photos < 2:
        raise InputError(f"{n_photos} photos cannot be split into train and test; ask for 2 or more")
    root = Path(folder)
    _make_folders(root)
    n_train = n_photos - max(1, round(n_photos * TEST_SHARE))
    photos: list[PhotoTruth] = []
    for index in range(n_photos):
        check_stop()
        photos.append(_write_photo(root, _SPLITS[index >= n_train], index, render_photo(seed, index)))
    truth = Truth(tuple(SHAPES), ATTRIBUTES, HIDDEN_ATTRIBUTE, tuple(photos))
    write_truth(root, truth)
    for split in _SPLITS:
        _write_tags(root / split, [photo for photo in photos if photo.split == split])
    return truth


def render_photo(seed: int, index: int) -> Shot:
    """Render photo `index` of the collection with a seed."""
    rng = np.random.default_rng([seed, index])
    scene = plan_scene(rng)
    canvas = draw_backdrop(rng, PLACES[scene.place], SIZE, scene.horizon)
    instances = np.zeros(canvas.shape[:2], np.uint8)
    for rank, sprite in enumerate(scene.sprites, start=1):
        cover = paint_sprite(rng, canvas, sprite, scene.light)
        instances[cover >= 0.5] = rank
    return Shot(scene, take_photo(rng, canvas), instances)


def _make_folders(root: Path) -> None:
    for name in (*_SPLITS, f"{FOLDER}/classes", f"{FOLDER}/instances"):
        try:
            (root / name).mkdir(parents=True)
        except FileExistsError as error:
            raise InputError(
                f"{str(root / name)!r} is there already: remove it or render into another folder"
            ) from error


def _write_photo(root: Path, split: Split, index: int, shot: Shot) -> PhotoTruth:
    photo = PhotoTruth(f"{split}/{index:04d}.jpg", split, shot.scene.place, list_instances(shot))
    Image.fromarray(shot.pixels).save(root / photo.image, quality=90, subsampling=0)
    class_of = np.array([0, *(list(SHAPES).index(sprite.name) + 1 for sprite in shot.scene.sprites)])
    write_masks(root, photo.stem, class_of[shot.instances], shot.instances)
    return photo


def list_instances(shot: Shot) -> tuple[Instance, ...]:
    """Measure the visible part of each sprite."""
    found: list[Instance] = []
    for rank, sprite in enumerate(shot.scene.sprites, start=1):
        y, x = np.nonzero(shot.instances == rank)
        box = (int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)
        found.append(Instance(sprite.name, sprite.attributes, box, len(x)))
    return tuple(found)


def _write_tags(folder: Path, photos: list[PhotoTruth]) -> None:
    with (folder / "tags.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("image", "objects", "attributes"))
        for photo in photos:
            objects = {instance.object for instance in photo.instances}
            attributes = {word for instance in photo.instances for word in instance.attributes}
            writer.writerow(
                (
                    Path(photo.image).name,
                    ";".join(sorted(objects)),
                    ";".join(sorted(attributes - {HIDDEN_ATTRIBUTE})),
                )
            )


def take_photo(rng: np.random.Generator, scene: Array) -> Array:
    """(h, w, 3) uint8 of a scene (h, w, 3), 0..1, with slightly uneven light, tint, blur and grain."""
    height, width = scene.shape[:2]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    x = np.linspace(-1, 1, width, dtype=np.float32)
    lean = rng.uniform(-0.1, 0.1, 2).astype(np.float32)
    light = float(rng.uniform(0.97, 1.15)) + lean[0] * x + lean[1] * y - 0.1 * (x * x + y * y)
    tint = rng.uniform(0.96, 1.04, 3).astype(np.float32)
    lit: Array = scene * light[..., None] * tint
    blurred = cv2.GaussianBlur(lit, (0, 0), rng.uniform(0.45, 0.75))
    # Film grain is larger than a pixel; noise of single pixels would look like a bad sensor.
    white = rng.standard_normal(scene.shape, dtype=np.float32)
    grain = cv2.GaussianBlur(white, (0, 0), 0.6) * float(rng.uniform(0.015, 0.035))
    return np.round(np.clip(blurred + grain, 0, 1) * 255).astype(np.uint8)
