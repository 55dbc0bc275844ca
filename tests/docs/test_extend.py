"""The code of each recipe registers an extension, and the extension works."""

import csv
import json
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tagsight.data.vocabulary import Vocabulary
from tagsight.demo import render_collection
from tagsight.export.output import Target
from tests.export.made import DETACHED, make_files, make_photo
from tests.pages import make_environment, read_blocks, read_commands

TRAIN = ["tagsight", "train", "photos", "-o", "my.model", "--features", "classic", "--free", "1", "--workers", "1"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with rendered `photos/`."""
    render_collection(tmp_path / "rendered", n_photos=12, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    return tmp_path


def run(command: list[str], place: Path, variables: dict[str, str] | None = None) -> str:
    environment = make_environment(place / "cache") | (variables or {})
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_recipe(page: Path, place: Path) -> str:
    return run([sys.executable, "-c", "\n".join(read_blocks(page, "python"))], place)


def test_collection_format(repository: Path, place: Path) -> None:
    with (place / "photos/tags.csv").open() as file:
        tags = list(csv.DictReader(file))
    lines = [f"{row['image']}: {row['objects'].replace(';', ', ')} | {row['attributes']}" for row in tags]
    (place / "photos/tags.csv").unlink()
    (place / "photos/photos.txt").write_text("\n".join([*lines, "a line without a separator"]))
    printed = run_recipe(repository / "docs/extend/format.md", place).splitlines()
    objects = sorted({word for row in tags for word in row["objects"].split(";")})
    assert printed[0].startswith(f"{len(tags)} photos, ")
    assert sorted(printed[0].split(", ")[1:]) == objects
    assert printed[1] == f"photos.txt line {len(tags) + 1}: no colon after the name of the photo"


def read_exporter(repository: Path) -> tuple[str, str, str]:
    """The module, the script, and the edits of the recipe."""
    module, script, edits = read_blocks(repository / "docs/extend/exporter.md", "python")
    return module, script, edits


@pytest.mark.slow
def test_exporter_in_a_script(repository: Path, place: Path) -> None:
    module, script, _ = read_exporter(repository)
    run(TRAIN, place)
    run([sys.executable, "-c", f"{module}\n{script}"], place)
    check_boxes(place)


@pytest.mark.slow
def test_exporter_as_part_of_the_package(repository: Path, place: Path) -> None:
    """The command has the format, and the tests of all formats pass with it."""
    module, _, edits = read_exporter(repository)
    shutil.copytree(repository / "src", place / "src")
    (place / "src/tagsight/export/boxes.py").write_text(module)
    registry = place / "src/tagsight/export/__init__.py"
    lines, edited = registry.read_text().splitlines(keepends=True), edits.splitlines(keepends=True)
    imports = next(n for n, line in enumerate(lines) if line.startswith("from tagsight.export import "))
    assert edited[0].replace("boxes, ", "") == lines[imports]
    lines[imports] = edited[0]
    assert edited[2] in lines
    lines.insert(lines.index(edited[2]) + 1, edited[3])
    registry.write_text("".join(lines))
    environment = {"PYTHONPATH": str(place / "src")}
    run(TRAIN, place)
    run(["tagsight", "export", "my.model", "photos", "--format", "boxes", "-o", "out"], place, environment)
    check_boxes(place)
    tests = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-k", "boxes"]
    assert " passed" in run([*tests, str(repository / "tests/export/test_untrusted.py")], place, environment)


def check_boxes(place: Path) -> None:
    photos = sorted((place / "photos").glob("*.jpg"))
    assert {path.stem for path in (place / "out").glob("*.csv")} == {path.stem for path in photos}
    assert json.loads((place / "out/classes.json").read_text())
    files = (path.read_text().splitlines() for path in (place / "out").glob("*.csv"))
    rows = [row for lines in files for row in csv.DictReader(lines)]
    assert rows
    assert all(int(row["pixels"]) > 0 for row in rows)


def test_exporter_quotes_names(repository: Path) -> None:
    made: dict[str, Any] = {}
    exec(read_exporter(repository)[0], made)
    names = ('a, "b"\nc', "d")
    vocabulary = Vocabulary(names, ())
    photo = make_photo(DETACHED * [[1, 1, 1, 2]], vocabulary=vocabulary)
    files = make_files(made["write"], photo, target=Target(vocabulary, Path("/nowhere")))
    rows = list(csv.DictReader(StringIO(files["a.csv"].decode(), newline="")))
    assert [row["object"] for row in rows] == list(names)
    assert [int(row["pixels"]) for row in rows] == [photo.mask(n).sum() for n in range(2)]
    assert json.loads(files["classes.json"]) == list(names)


@pytest.mark.slow
def test_backbone(repository: Path, place: Path) -> None:
    page = repository / "docs/extend/backbone.md"
    run_recipe(page, place)
    commands = read_commands(page)
    assert len(commands) == 2
    printed = [run(["sh", "-c", line], place) for line in commands]
    assert "0000.jpg" in printed[-1]


@pytest.mark.slow
def test_benchmark_method(repository: Path, place: Path) -> None:
    (example,) = read_blocks(repository / "docs/howto/bench.md", "python")
    (place / "nearest.py").write_text(example)
    render_collection(place / "demo/photos", n_photos=20, seed=0)
    run_recipe(repository / "docs/extend/method.md", place)
    cells = list(place.glob("results/rendered/test/*/*/mean-photo-*.json"))
    assert cells
    assert all(json.loads(cell.read_text()) for cell in cells)
