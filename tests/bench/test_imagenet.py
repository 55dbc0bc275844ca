"""ImageNet Attribute, with rendered photos in the layout of its release."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from typer.testing import CliRunner

from tagsight.demo import PhotoTruth, read_truth
from tagsight.errors import InputError
from tagsight_bench.cells import read_cells
from tagsight_bench.cli import make_app
from tagsight_bench.sources.imagenet import read_imagenet

from .conftest import METHOD

N_ATTRIBUTES = 25


@pytest.fixture
def data(demo: Path, tmp_path: Path) -> Path:
    """The first object of each rendered photo is the labelled one; attributes that were not drawn are -1."""
    truth = read_truth(demo / "photos")
    folder = tmp_path / "imagenet_attributes"
    folder.mkdir()
    boxes = np.empty((len(truth.photos), 1), dtype=[(side, "O") for side in ("x1", "x2", "y1", "y2")])
    labels = np.full((len(truth.photos), N_ATTRIBUTES), -1)
    for i, photo in enumerate(truth.photos):
        one = photo.instances[0]
        shutil.copy(demo / "photos" / photo.image, folder / f"{name_image(truth.objects, photo, i)}.JPEG")
        with Image.open(demo / "photos" / photo.image) as image:
            (x0, y0, x1, y1), (width, height) = one.box, image.size
        boxes[i, 0] = (x0 / width, x1 / width, y0 / height, y1 / height)
        labels[i, [truth.attributes.index(word) for word in one.attributes]] = 1
        labels[i, -1] = 0  # the annotators disagree: no tag, and absent in the truth
    content = {
        "images": np.array([name_image(truth.objects, photo, i) for i, photo in enumerate(truth.photos)], dtype=object),
        "attributes": np.array([*truth.attributes, *(f"idle{n}" for n in range(N_ATTRIBUTES))][:N_ATTRIBUTES], object),
        "labels": labels,
        "bboxes": boxes,
    }
    savemat(folder / "attrann.mat", {"attrann": content})
    return tmp_path


def name_image(objects: tuple[str, ...], photo: PhotoTruth, number: int) -> str:
    return f"n{objects.index(photo.instances[0].object):02}_{number:03}"


def test_every_other_photo_of_a_synset_is_a_test_photo(demo: Path, data: Path) -> None:
    source = read_imagenet(data / "imagenet_attributes", "photos")
    truth = read_truth(demo / "photos")
    assert list(source.attribute_sets) == [N_ATTRIBUTES]
    assert len(source.train) + len(source.test) == len(truth.photos)
    for synset in source.vocabulary.objects:
        train, test = (
            [photo.path.name for photo in part if photo.objects == (synset,)] for part in (source.train, source.test)
        )
        assert [name for pair in zip(train, [*test, ""], strict=False) for name in pair if name] == sorted(train + test)
        assert 0 <= len(train) - len(test) <= 1
    for known in (*source.train, *source.test):
        (found,) = known.boxes
        real = truth.photos[int(known.path.stem.partition("_")[2])].instances[0]
        assert found.attributes == known.attributes
        assert set(found.attributes) == set(real.attributes)
        assert np.abs(np.subtract(found.box, real.box)).max() <= 1


def test_the_benchmark_runs_with_the_data(data: Path, tmp_path: Path) -> None:
    command = ["imagenet", "--data", str(data), "-o", str(tmp_path / "out"), "--methods", METHOD]
    done = CliRunner().invoke(make_app(), [*command, "--seeds", "1", "--workers", "1"])
    assert done.exit_code == 0, done.output
    figures = {cell["settings"]["table"]: cell["figures"] for cell in read_cells(tmp_path / "out")}
    assert 0.5 < figures["annotation"]["given_location_auc"] <= 1


def test_a_missing_photo_is_named(data: Path) -> None:
    folder = data / "imagenet_attributes"
    lost = min(folder.glob("*.JPEG"))
    lost.unlink()
    with pytest.raises(InputError, match=rf"1 of the photos cannot be used, first '.*{lost.name}' \(.*no such photo"):
        read_imagenet(folder, "photos")
