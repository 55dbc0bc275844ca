"""The export command on the rendered collection, and the commands of its how-to page."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from tagsight.export import FORMATS

from .conftest import Trained, call


def unseen(trained: Trained) -> list[Path]:
    return sorted((trained.photos / "test").glob("*.jpg"))


def export_coco(trained: Trained, output: Path, *images: object) -> Any:
    result = call("export", trained.model, *images, "--format", "coco", "-o", output, "--threshold", 0.05)
    assert result.exit_code == 0, result.output
    return json.loads((output / "instances_masks.json").read_text())


@pytest.mark.slow
def test_coco_areas_are_those_of_segment(trained: Trained, tmp_path: Path) -> None:
    content = export_coco(trained, tmp_path / "out", trained.photos / "test")
    call("segment", trained.model, trained.photos / "test", "-o", tmp_path / "masks", "--threshold", 0.05)
    assert [image["file_name"] for image in content["images"]] == [path.name for path in unseen(trained)]
    assert content["annotations"]
    for image in content["images"]:
        with Image.open(tmp_path / "masks" / Path(image["file_name"]).with_suffix(".png")) as mask:
            outlined = np.bincount(np.asarray(mask).ravel(), minlength=9)[1:]
        areas = np.zeros(8, int)
        for annotation in content["annotations"]:
            if annotation["image_id"] == image["id"]:
                areas[annotation["category_id"] - 1] += annotation["area"]
        assert_array_equal(areas, outlined)


@pytest.mark.parametrize("orientation", [3, 6, 7])
def test_a_photo_on_its_side_is_exported_upright(trained: Trained, tmp_path: Path, orientation: int) -> None:
    undo = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE}
    with Image.open(unseen(trained)[0]) as upright:
        exif = Image.Exif()
        exif[0x0112] = orientation
        (tmp_path / "stored").mkdir()
        (tmp_path / "upright").mkdir()
        upright.save(tmp_path / "upright/a.png")
        upright.transpose(undo[orientation]).save(tmp_path / "stored/a.png", exif=exif)
    stored = export_coco(trained, tmp_path / "s", tmp_path / "stored")
    assert (stored["images"][0]["width"], stored["images"][0]["height"]) == (320, 240)
    assert stored == export_coco(trained, tmp_path / "u", tmp_path / "upright")


@pytest.mark.slow
def test_equal_names_in_two_folders_and_repeated_photos_are_exported_once(trained: Trained, tmp_path: Path) -> None:
    for folder, photo in zip(("x", "y"), unseen(trained), strict=False):
        (tmp_path / folder).mkdir()
        shutil.copy(photo, tmp_path / folder / "a.jpg")
    for format in FORMATS:
        output = tmp_path / f"out-{format}"
        given = (tmp_path / "x", tmp_path / "y", tmp_path / "y/a.jpg")
        result = call("export", trained.model, *given, "--format", format, "-o", output, "--threshold", 0.05)
        assert result.exit_code == 0, result.output
        assert "in 2 photos" in result.stdout
        written = {file.relative_to(output).as_posix() for file in output.rglob("*") if file.is_file()}
        of_photos = written - {*FORMATS[format].files, ".tagsight-files.jsonl"}
        assert len(of_photos) == 0 or sorted(PurePosixPath(file).parent.name for file in of_photos) == ["x", "y"]
    coco = json.loads((tmp_path / "out-coco/instances_masks.json").read_text())
    assert [image["file_name"] for image in coco["images"]] == ["x/a.jpg", "y/a.jpg"]


def test_broken_photos_and_hostile_names_do_not_stop_an_export(trained: Trained, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "bad.jpg").write_text("<html>")
    good = photos / "a\n<b> 'ü'.jpg"
    shutil.copy(unseen(trained)[0], good)
    result = call("export", trained.model, photos, "--format", "labelme", "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert "bad.jpg" in result.stderr
    (file,) = (tmp_path / "out").glob("*.json")
    assert json.loads(file.read_text())["imagePath"] == f"../photos/{good.name}"

    file.write_text("corrected by hand")
    named = call("export", trained.model, good, photos / "bad.jpg", "--format", "labelme", "-o", tmp_path / "out")
    assert named.exit_code == 1
    assert "is there already" in named.stderr
    assert file.read_text() == "corrected by hand"


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_without_readable_photos_writes_nothing(trained: Trained, tmp_path: Path, format: str) -> None:
    (tmp_path / "bad.jpg").write_text("<html>")
    result = call("export", trained.model, tmp_path / "bad.jpg", "--format", format, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert not (tmp_path / "out").exists()


def test_a_photo_with_an_invalid_name_is_left_out(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for name in (b"\xff.jpg", b"good.jpg"):
        shutil.copy(unseen(trained)[0], tmp_path / "photos" / os.fsdecode(name))
    result = call("export", trained.model, tmp_path / "photos", "--format", "xmp", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "not valid Unicode text" in result.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["good.jpg.xmp"]


def test_the_same_model_and_photos_give_the_same_bytes(trained: Trained, tmp_path: Path) -> None:
    for output in ("one", "two"):
        export_coco(trained, tmp_path / output, trained.photos / "test")
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one
    assert one == two


@pytest.mark.slow
def test_the_how_to_runs(trained: Trained, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(trained.model, "my.model")
    Path("photos").mkdir()
    photo = shutil.copy(unseen(trained)[0], "photos")
    text = (repository / "docs/howto/export.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert {format for format in FORMATS if any(f"--format {format}" in line for line in lines)} == set(FORMATS)
    for line in lines:
        if line.startswith("tagsight "):
            result = call(*shlex.split(line)[1:])
            assert result.exit_code == 0, f"{line}\n{result.output}"
        else:
            subprocess.run(["sh", "-c", line], check=True)
    for format in FORMATS:
        made = re.findall(rf"`({format}/[^` ]+)`", text)
        assert made, f"the page names no file of {format}"
        for file in made:
            assert Path(file.replace("NAME", Path(photo).stem)).is_file(), file
    assert (Path("yolo/images") / Path(photo).name).is_file()
