"""A model trained with a network of the user whose file is moved afterwards."""

from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tagsight.errors import InputError
from tagsight.predict.model_file import load_model
from tests.networks import save_network

from .conftest import call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A model, an index, the network under its new name and another network."""
    folder = tmp_path_factory.mktemp("backbone")
    render_collection(folder / "photos", n_photos=24, seed=3)
    network = save_network(folder / "net.onnx")
    options = ("--features", network, "--free", 1, "--regions", 10)
    for command in (
        ("train", folder / "photos/train", "-o", folder / "a.model", *options),
        ("index", folder / "a.model", folder / "photos/test", "-o", folder / "a.index"),
    ):
        result = call(*command)
        assert result.exit_code == 0, result.output
    network.rename(folder / "moved.onnx")
    save_network(folder / "other.onnx", gain=1.5)
    return folder


def list_commands(folder: Path, output: Path) -> dict[str, tuple[object, ...]]:
    """A call of every command that opens a model or an index."""
    model, photo = folder / "a.model", next((folder / "photos/test").rglob("*.jpg"))
    (output / "like.jpg").write_bytes(photo.read_bytes())  # outside the folder of the index, so that it is predicted
    name = load_model(model).vocabulary.objects[0]
    return {
        "annotate": ("annotate", model, photo),
        "describe": ("describe", model, photo, "--object", name),
        "segment": ("segment", model, photo, "-o", output / "masks"),
        "export": ("export", model, photo, "-o", output / "exported", "--format", "coco"),
        "index": ("index", model, folder / "photos/test", "-o", output / "new.index"),
        "find": ("find", folder / "a.index", "--like", output / "like.jpg"),
    }


def test_a_moved_network_is_found_by_the_backbone_option(folder: Path, tmp_path: Path) -> None:
    for name, command in list_commands(folder, tmp_path).items():
        lost = call(*command)
        assert isinstance(lost.exception, InputError), name
        assert "net.onnx' that the model was trained with is missing; give its present path" in str(lost.exception)
        found = call(*command, "--backbone", folder / "moved.onnx")
        assert found.exit_code == 0, (name, found.output, found.exception)


def test_another_network_is_refused_before_any_work(folder: Path, tmp_path: Path) -> None:
    commands = list_commands(folder, tmp_path)
    commands |= {"factors": ("factors", folder / "a.model"), "serve": ("serve", folder / "a.index")}
    for name, command in commands.items():
        refused = call(*command, "--backbone", folder / "other.onnx")
        assert "other.onnx' is not the network that the model was trained with" in str(refused.exception), name
        assert refused.stdout == ""
