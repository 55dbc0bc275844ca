import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagsight.data.photo import read_photo
from tagsight.data.readers import open_collection
from tagsight.demo import (
    HIDDEN_ATTRIBUTE,
    Truth,
    read_classes,
    read_instances,
    read_truth,
    render_collection,
)
from tagsight.demo.outlines import cut_jagged, ellipse
from tagsight.demo.palette import PAINTS
from tagsight.demo.patterns import PATTERNS
from tagsight.demo.scene import SIZE, plan_scene
from tagsight.errors import InputError
from tagsight.pictures.palette import make_voc_palette
from tagsight.regions import find_boxes

N_PHOTOS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("demo") / "collection"
    render_collection(place, n_photos=N_PHOTOS, seed=3)
    return place


@pytest.fixture(scope="module")
def truth(folder: Path) -> Truth:
    truth = read_truth(folder)
    assert len(truth.photos) == N_PHOTOS
    assert all(photo.instances for photo in truth.photos)
    return truth


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(folder: Path, tmp_path: Path) -> None:
    returned = render_collection(tmp_path / "again", n_photos=N_PHOTOS, seed=3)
    assert list_files(tmp_path / "again") == list_files(folder)
    assert returned == read_truth(folder)
    render_collection(tmp_path / "other", n_photos=2, seed=4)
    assert (tmp_path / "other/train/0000.jpg").read_bytes() != (folder / "train/0000.jpg").read_bytes()


def test_a_photo_does_not_depend_on_the_number_of_photos(folder: Path, tmp_path: Path) -> None:
    render_collection(tmp_path / "few", n_photos=3, seed=3)
    assert (tmp_path / "few/train/0001.jpg").read_bytes() == (folder / "train/0001.jpg").read_bytes()
    assert (tmp_path / "few/test/0002.jpg").read_bytes() == (folder / "train/0002.jpg").read_bytes()


def test_both_splits_open_as_collections_of_the_photos_asked_for(folder: Path, truth: Truth) -> None:
    train, test = open_collection(folder / "train"), open_collection(folder / "test")
    assert (len(train.photos), len(test.photos)) == (6, 2)
    assert train.problems == test.problems == ()
    listed = {f"{path.parent.name}/{path.name}" for path, *_ in (*train.photos, *test.photos)}
    assert listed == {photo.image for photo in truth.photos}
    for photo in train.photos:
        assert read_photo(photo.path).size == SIZE
    assert not list((folder / "train").rglob("*.png"))


def test_tags_are_the_union_over_instances_without_the_hidden_attribute(folder: Path, truth: Truth) -> None:
    rows: dict[str, tuple[str, str]] = {}
    for split in ("train", "test"):
        with (folder / split / "tags.csv").open(encoding="utf-8", newline="") as file:
            rows |= {f"{split}/{image}": (objects, words) for image, objects, words in list(csv.reader(file))[1:]}
    for photo in truth.photos:
        objects, attributes = rows[photo.image]
        words = {word for instance in photo.instances for word in instance.attributes}
        assert set(objects.split(";")) == {instance.object for instance in photo.instances}
        assert set(attributes.split(";")) == words - {HIDDEN_ATTRIBUTE}


def test_the_hidden_attribute_is_in_the_truth_and_in_no_tag(folder: Path, truth: Truth) -> None:
    assert truth.hidden == HIDDEN_ATTRIBUTE
    assert HIDDEN_ATTRIBUTE in truth.attributes
    shown = [HIDDEN_ATTRIBUTE in found.attributes for photo in truth.photos for found in photo.instances]
    assert any(shown)
    assert not all(shown)
    for split in ("train", "test"):
        assert HIDDEN_ATTRIBUTE not in (folder / split / "tags.csv").read_text(encoding="utf-8")


def test_masks_agree_with_the_truth(folder: Path, truth: Truth) -> None:
    for photo in truth.photos:
        classes, instances = read_classes(folder, photo), read_instances(folder, photo)
        assert classes.shape == instances.shape == SIZE[::-1]
        boxes = find_boxes(instances.astype(np.int32))[1:]
        assert [found.box for found in photo.instances] == [tuple(map(int, box)) for box in boxes]
        expected = np.zeros_like(classes)
        for rank, found in enumerate(photo.instances, start=1):
            assert np.count_nonzero(instances == rank) == found.area
            expected[instances == rank] = truth.objects.index(found.object) + 1
        assert np.array_equal(classes, expected)


def test_masks_are_palette_images_in_the_colours_of_voc(folder: Path) -> None:
    with Image.open(folder / "truth/classes/0000.png") as mask:
        assert mask.mode == "P"
        assert (mask.getpalette() or [])[:12] == [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0]
    assert len(np.unique(make_voc_palette(), axis=0)) == 256


def test_every_instance_has_one_colour_one_pattern_and_shows_it(folder: Path, truth: Truth) -> None:
    strongest = {"red": (0,), "green": (1,), "blue": (2,), "yellow": (0, 1), "purple": (0, 2)}
    for photo in truth.photos:
        pixels, instances = read_photo(folder / photo.image).pixels, read_instances(folder, photo)
        for rank, found in enumerate(photo.instances, start=1):
            (colour,) = set(found.attributes) & set(PAINTS)
            (_,) = set(found.attributes) & set(PATTERNS)
            mean = pixels[instances == rank].mean(axis=0)
            rest = [channel for channel in range(3) if channel not in strongest[colour]]
            assert mean[list(strongest[colour])].min() > mean[rest].max()


def test_objects_lie_within_the_photo_and_hardly_overlap(truth: Truth) -> None:
    for photo in truth.photos:
        assert len({found.object for found in photo.instances}) == len(photo.instances)
        for found in photo.instances:
            x0, y0, x1, y1 = found.box
            assert 0 <= x0 < x1 <= SIZE[0]
            assert 0 <= y0 < y1 <= SIZE[1]
            assert found.area > 1000


def test_attributes_are_independent_of_class_and_mostly_differ_within_a_photo() -> None:
    scenes = [plan_scene(np.random.default_rng(seed)) for seed in range(250)]
    sprites = [sprite for scene in scenes for sprite in scene.sprites]
    for word in ("red", "dotted", "tall", "jagged"):
        overall = np.mean([word in sprite.attributes for sprite in sprites])
        for name in ("bird", "mug"):
            share = np.mean([word in sprite.attributes for sprite in sprites if sprite.name == name])
            assert abs(share - overall) < 0.2
    pairs = [scene.sprites for scene in scenes if len(scene.sprites) == 2]
    assert len(pairs) > 0.35 * len(scenes)
    assert np.mean([one.colour != other.colour for one, other in pairs]) > 0.9
    assert np.mean([one.pattern != other.pattern for one, other in pairs]) > 0.85


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_repeat_and_stay_between_the_two_tones(name: str) -> None:
    v, u = np.mgrid[:64, :64] / 16
    share = PATTERNS[name](u, v, 16.0)
    assert share.min() >= 0
    assert share.max() <= 1
    assert np.allclose(share, PATTERNS[name](u + 2, v - 2, 16.0))
    assert (np.ptp(share) > 0.9) == (name != "plain")


def test_jagged_outlines_zigzag_about_the_smooth_one() -> None:
    radius = np.hypot(*cut_jagged(ellipse(0, 0, 50, 50), 6.0).T)
    assert np.all(np.sign(radius[1:] - 50) == -np.sign(radius[:-1] - 50))
    assert np.allclose(np.abs(radius - 50), 2.0, atol=0.3)


def test_too_few_photos_and_a_folder_in_use_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 photos cannot be split"):
        render_collection(tmp_path / "one", n_photos=1)
    with pytest.raises(InputError, match="is there already: remove it"):
        render_collection(folder, n_photos=N_PHOTOS)
