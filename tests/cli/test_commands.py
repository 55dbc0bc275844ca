"""Every command, on a small rendered collection."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagsight.cli.app import COMMANDS, load_command
from tagsight.predict.model_file import load_model

from .conftest import Trained, call

SLOW_IMPORTS = ["numpy", "scipy", "sklearn", "numba", "onnxruntime", "cv2", "tagsight.api"]


def unseen(trained: Trained) -> list[Path]:
    return sorted((trained.photos / "test").glob("*.jpg"))


def test_annotate_prints_one_json_object_per_photo(trained: Trained) -> None:
    result = call("annotate", trained.model, *unseen(trained)[:2], "--objects", 2, "--attributes", 3, "--json")
    assert result.exit_code == 0
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["image"] for line in lines] == [str(path) for path in unseen(trained)[:2]]
    vocabulary = load_model(trained.model).vocabulary
    for line in lines:
        assert len(line["objects"]) == 2
        for found in line["objects"]:
            assert found["name"] in vocabulary.objects
            assert 0 <= found["score"] <= 1
            x0, y0, x1, y1 = found["box"]
            assert 0 <= x0 < x1 <= 320
            assert 0 <= y0 < y1 <= 240
            assert len(found["attributes"]) == 3
            scores = [attribute["score"] for attribute in found["attributes"]]
            assert scores == sorted(scores, reverse=True)


def test_annotate_accepts_folders_and_prints_text(trained: Trained) -> None:
    result = call("annotate", trained.model, trained.photos / "test")
    assert result.exit_code == 0
    assert all(str(path) in result.stdout for path in unseen(trained))


def test_a_broken_photo_is_an_error_if_it_was_named_and_not_if_its_folder_was(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_text("<html>")
    (tmp_path / "good.jpg").write_bytes(unseen(trained)[0].read_bytes())
    named = call("annotate", trained.model, tmp_path / "bad.jpg", tmp_path / "good.jpg", "--json")
    assert named.exit_code == 1
    assert len(named.stdout.splitlines()) == 1
    assert "bad.jpg" in named.stderr
    folder = call("annotate", trained.model, tmp_path, "--json")
    assert folder.exit_code == 0
    assert "bad.jpg" in folder.stderr


def test_describe_searches_the_given_box(trained: Trained) -> None:
    photo = unseen(trained)[0]
    name = load_model(trained.model).vocabulary.objects[0]
    result = call("describe", trained.model, photo, "--object", name, "--box", "0,0,160,240", "--json")
    (found,) = json.loads(result.stdout)["objects"]
    assert found["name"] == name
    assert found["box"][0] < 160


def test_segment_writes_palette_masks_and_overlays(trained: Trained, tmp_path: Path) -> None:
    result = call("segment", trained.model, trained.photos / "test", "-o", tmp_path, "--overlay", "--threshold", 0.05)
    assert result.exit_code == 0
    for path in unseen(trained):
        with Image.open(tmp_path / f"{path.stem}.png") as mask:
            assert (mask.mode, mask.size) == ("P", (320, 240))
            assert np.asarray(mask).max() <= 8
        with Image.open(tmp_path / f"{path.stem}.overlay.jpg") as overlay:
            assert overlay.width == 320
            assert overlay.height > 240


def test_masks_of_photos_with_equal_names_have_different_names(trained: Trained, tmp_path: Path) -> None:
    for name in ("a/x.jpg", "b/x.jpg", "c/x.jpg", "c/sub/x.jpg", "c/x.png", "c/y.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(unseen(trained)[0].read_bytes())
    named = (tmp_path / "a/x.jpg", tmp_path / "b/x.jpg")
    for images, expected in (
        (named, {"a/x.jpg.png", "b/x.jpg.png"}),
        ((tmp_path / "c", tmp_path / "c/y.jpg"), {"x.jpg.png", "x.png.png", "sub/x.png", "y.png"}),
    ):
        output = tmp_path / f"masks{len(expected)}"
        result = call("segment", trained.model, *images, "-o", output)
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        written = {path.relative_to(output).as_posix() for path in output.rglob("*.png")}
        assert written == expected
        assert set(result.stdout.splitlines()) == {str(output / name) for name in expected}


def test_describe_compares_names_as_tags_are(trained: Trained) -> None:
    name = load_model(trained.model).vocabulary.objects[0]
    plain, other = (
        call("describe", trained.model, unseen(trained)[0], "--object", spelt, "--json").stdout
        for spelt in (name, f" {name.upper()}")
    )
    assert json.loads(plain) == json.loads(other)


def test_train_warns_of_photos_and_tags_that_are_too_few(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/a.jpg").write_bytes(unseen(trained)[0].read_bytes())
    (tmp_path / "photos/tags.csv").write_text("image,objects\na.jpg,\n")
    options = ("--features", "classic", "--regions", 5, "--free", 1, "--json")
    refused = call("train", tmp_path / "photos", "-o", tmp_path / "m", *options)
    assert "no photo of 'photos' has a tag, so no word can be learned: add tags" in str(refused.exception)
    (tmp_path / "photos/tags.csv").write_text("image,objects\na.jpg,cat\n")
    result = call("train", tmp_path / "photos", "-o", tmp_path / "m", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["photos"] == 1
    warnings = [line for line in result.stderr.splitlines() if line.startswith("tagsight: warning: ")]
    assert warnings == [
        "tagsight: warning: number of photos: 1; with fewer than 50, scores are not calibrated",
        "tagsight: warning: tags on fewer than 5 photos: 1 of 1 ('cat'); add photos of them",
    ]


def test_factors_are_listed_in_column_order_and_shown_on_a_page(trained: Trained, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = call("factors", trained.model, "--json", "-o", page)
    listed = json.loads(result.stdout)
    model = load_model(trained.model)
    assert [factor["name"] for factor in listed] == list(model.factor_names)
    kinds = [factor["kind"] for factor in listed]
    assert kinds == ["object"] * 8 + ["attribute"] * (len(kinds) - 11) + ["free"] * 3
    text = page.read_text()
    assert all(name in text for name in model.factor_names)
    assert "data:image/jpeg;base64," in text


def test_inspect_counts_the_collection(trained: Trained) -> None:
    report = json.loads(call("inspect", trained.photos / "train", "--json").stdout)
    assert report["photos"] == len(list((trained.photos / "train").glob("*.jpg")))
    assert report["problems"] == []
    assert sum(tag["photos"] for tag in report["objects"]) >= report["photos"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_describes_the_command_and_all_its_options(command: str) -> None:
    short, long = (call(command, option) for option in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.output == long.output
    loaded = load_command(command)
    assert " ".join(str(loaded.help).split()[:5]) in short.output
    for parameter in loaded.params:
        assert getattr(parameter, "help", None), parameter.name


def test_the_help_lists_every_command_with_the_first_paragraph_of_its_help() -> None:
    listed = " ".join(call("--help").output.replace("│", " ").split())
    for command, summary in COMMANDS.items():
        assert f" {command} {summary} " in listed
        assert str(load_command(command).help).split("\n\n")[0] == summary


def test_the_help_is_shown_without_importing_any_command() -> None:
    code = f"""
import sys
from tagsight.cli.main import main
sys.argv = ["tagsight", "--help"]
try:
    main()
finally:
    print([name for name in {SLOW_IMPORTS} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"
    assert "train" in ended.stdout


def test_a_misspelt_command_is_corrected() -> None:
    result = call("trian")
    assert result.exit_code == 2
    assert "Did you mean 'train'?" in result.stderr


def test_the_version_is_that_of_the_package() -> None:
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"tagsight {version('tagsight')}\n")
