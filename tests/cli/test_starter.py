"""Every command without a model uses the starter model, says so in one line, and `tagsight models` describes it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tagsight
from tagsight.cli.app import load_command
from tagsight.errors import InputError
from tagsight.predict.shipped import SHIPPED, STARTER, read_figures

from .conftest import call

NOTICE = "tagsight: using the model 'starter' (20 objects, 64 attributes; 'tagsight models' describes it)\n"
TAKERS = ["annotate", "describe", "segment", "export", "index", "factors"]


@pytest.fixture
def photos(repository: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `photos` in the current folder."""
    shutil.copytree(repository / "docs/images/photos", tmp_path / "photos")
    monkeypatch.chdir(tmp_path)
    return Path("photos")


def test_annotate_names_the_objects(photos: Path) -> None:
    result = call("annotate", photos / "cat.jpg", photos / "astronaut.jpg", "--objects", 1, "--json")
    assert (result.exit_code, result.stderr) == (0, NOTICE)
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert [line["objects"][0]["name"] for line in (first, second)] == ["cat", "person"]
    assert all(line["objects"][0]["score"] > 0.8 for line in (first, second))
    assert "furry" in [one["name"] for one in first["objects"][0]["attributes"]]
    assert call("annotate", photos, "--objects", 1, "--json").stderr == NOTICE


def test_the_model_may_be_given_by_its_name_or_its_path(photos: Path) -> None:
    unnamed = call("annotate", photos / "cat.jpg")
    for model in (STARTER, SHIPPED[STARTER].path):
        named = call("annotate", model, photos / "cat.jpg")
        assert (named.exit_code, named.stdout, named.stderr) == (0, unnamed.stdout, "")


def test_describe_describes_the_object(photos: Path) -> None:
    result = call("describe", photos / "cat.jpg", "--object", "cat", "--json")
    assert (result.exit_code, result.stderr) == (0, NOTICE)
    assert json.loads(result.stdout)["objects"][0]["name"] == "cat"


def test_segment_outlines_the_object(photos: Path) -> None:
    result = call("segment", photos / "cat.jpg", "-o", "masks", "--overlay")
    assert (result.exit_code, result.stderr) == (0, NOTICE)
    label = 1 + tagsight.load().objects.index("cat")
    with Image.open("masks/cat.png") as mask:
        assert (np.asarray(mask) == label).mean() > 0.5


def test_export_writes_the_objects(photos: Path) -> None:
    result = call("export", photos, "-o", "out", "--format", "coco")
    assert (result.exit_code, result.stderr.splitlines()[0] + "\n") == (0, NOTICE)
    names = {one["name"] for one in json.loads(Path("out/instances_masks.json").read_text())["categories"]}
    assert {"cat", "person"} <= names


def test_an_index_is_built_and_searched(photos: Path) -> None:
    for added in (2, 0):
        result = call("index", photos, "-o", "my.index", "--workers", 1, "--json")
        assert (result.exit_code, result.stderr.splitlines()[0] + "\n") == (0, NOTICE)
        assert json.loads(result.stdout)["added"] == added
    found = call("find", "my.index", "furry cat", "--top", 1, "--json")
    assert json.loads(found.stdout)["path"].endswith("cat.jpg")


def test_factors_lists_the_words_and_its_page_has_no_pictures(photos: Path) -> None:
    result = call("factors", "--json", "-o", "factors.html")
    assert (result.exit_code, result.stderr) == (0, NOTICE)
    assert [one["name"] for one in json.loads(result.stdout)][:20] == list(tagsight.load().objects)
    page = Path("factors.html").read_text()
    assert "<img" not in page
    assert "no examples in the model file" in page


def test_a_missing_or_broken_photo_is_reported(photos: Path) -> None:
    (photos / "broken.jpg").write_text("<html>")
    result = call("annotate", "absent.jpg", photos / "broken.jpg", photos / "cat.jpg", "--json")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert [line.split(":")[1].strip() for line in result.stderr.splitlines()[1:]] == [
        "left out 'absent.jpg'",
        "left out 'photos/broken.jpg'",
    ]


def test_python_loads_it_without_arguments_and_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tagsight.load().objects == tagsight.load(STARTER).objects
    assert tagsight.load().trained.training == tagsight.load(SHIPPED[STARTER].path).trained.training
    Path(STARTER).write_text("mine")
    assert "cat" in tagsight.load().objects
    with pytest.raises(InputError, match="is not a model file"):
        tagsight.load(STARTER)


def test_models_lists_what_the_model_knows_as_json() -> None:
    (card,) = json.loads(call("models", "--json").stdout)
    model = tagsight.load()
    assert (card["name"], card["default"]) == (STARTER, True)
    assert (tuple(card["objects"]), tuple(card["attributes"])) == (model.objects, model.attributes)
    assert card["training"]["photos"] == model.trained.training.n_photos
    assert card["bytes"] == Path(card["path"]).stat().st_size
    assert card["figures"] == read_figures(SHIPPED[STARTER])._asdict()
    assert card["limits"]
    assert "aPascal" in card["training"]["source"]


def test_models_prints_the_card() -> None:
    result = call("models")
    assert (result.exit_code, result.stderr) == (0, "")
    first, *lines = result.stdout.splitlines()
    assert first == "starter (used if a command names no model)"
    assert all(len(line) <= 100 for line in lines if not line.startswith("  file"))
    text = " ".join(" ".join(lines).split())
    figures = read_figures(SHIPPED[STARTER])
    for part in (
        "objects 20: aeroplane,",
        "attributes 64: 2d boxy,",
        f"{figures.object_right:.1%}",
        "licence Apache-2.0",
    ):
        assert part in text
    assert lines[-1].split() == ["file", str(SHIPPED[STARTER].path)]


@pytest.mark.parametrize("command", TAKERS)
def test_completion_and_help_need_no_model(command: str) -> None:
    assert load_command(command).make_context(command, ["--help"], resilient_parsing=True)
