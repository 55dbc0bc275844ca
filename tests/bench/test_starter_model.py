"""The script that makes the starter model: only training photos, and no part of a photo in the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import starter_model
from PIL import Image

from tagsight.data.collection import Collection
from tagsight.data.readers import open_collection
from tagsight.demo import render_collection
from tagsight.errors import InputError
from tagsight.predict.trained_model import TrainedModel
from tagsight.runtime.progress import no_progress
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train

N_TRAIN, N_TEST = 6, 4


def write_apascal(folder: Path) -> Path:
    """A made aPascal: every photo has class 1 and both attributes; test photos have other names."""
    sets = folder / "VOCdevkit/VOC2008/ImageSets"
    for place in (
        sets / "Main",
        sets / "Segmentation",
        folder / "VOCdevkit/VOC2008/JPEGImages",
        folder / "attribute_data",
    ):
        place.mkdir(parents=True)
    names = {"train": [f"train{i}" for i in range(N_TRAIN)], "val": [f"test{i}" for i in range(N_TEST)]}
    for split, photos in names.items():
        (sets / f"Main/{split}.txt").write_text("\n".join(photos))
        (sets / f"Segmentation/{split}.txt").write_text("")
        boxes = "".join(f"{name}.jpg class1 1 1 9 9 1 1\n" for name in photos)
        (folder / f"attribute_data/apascal_{'train' if split == 'train' else 'test'}.txt").write_text(boxes)
        for number, name in enumerate(photos):
            pixels = np.full((20, 20, 3), 10 * number, np.uint8)
            Image.fromarray(pixels).save(folder / f"VOCdevkit/VOC2008/JPEGImages/{name}.jpg")
    (folder / "attribute_data/class_names.txt").write_text("".join(f"class{i}\n" for i in range(1, 33)))
    (folder / "attribute_data/attribute_names.txt").write_text("furry\nround\n")
    (folder / "pascal_sentences.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    folder = tmp_path_factory.mktemp("rendered")
    render_collection(folder, n_photos=24, seed=3)
    return train(open_collection(folder / "train"), TrainOptions(n_free=1, n_regions=20, n_workers=1)).model


def test_it_trains_on_the_training_photos_with_the_default_options(
    tmp_path: Path, rendered: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Collection, TrainOptions]] = []

    def train(collection: Collection, options: TrainOptions, report: Any) -> Any:
        given.append((collection, options))
        return type("Outcome", (), {"model": rendered})

    monkeypatch.setattr(starter_model, "train", train)
    assert any(rendered.example_crops)
    model = starter_model.train_starter(write_apascal(tmp_path), no_progress)
    ((collection, options),) = given
    assert [photo.path.stem for photo in collection.photos] == [f"train{i}" for i in range(N_TRAIN)]
    assert options == TrainOptions(seed=0)
    assert model == rendered._replace(example_crops=((),) * len(rendered.factor_names))


def test_a_tag_on_few_photos_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_apascal(tmp_path)
    boxes = folder / "attribute_data/apascal_train.txt"
    boxes.write_text(boxes.read_text() + "train0.jpg class2 1 1 9 9 0 0\n")
    monkeypatch.setattr(starter_model, "train", None)
    with pytest.raises(InputError, match="tags on fewer than 5 photos: class2"):
        starter_model.train_starter(folder, no_progress)


def test_a_file_that_is_too_large_is_refused(rendered: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(starter_model.encode_starter(rendered))
    monkeypatch.setattr(starter_model, "MAX_BYTES", size - 1)
    with pytest.raises(InputError, match="at most"):
        starter_model.encode_starter(rendered)
