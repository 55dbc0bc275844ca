"""The code of each recipe registers an extension, and the extension works."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tests.pages import make_environment, read_blocks, read_commands

TRAIN = ["tagsight", "train", "photos", "-o", "my.model", "--features", "classic", "--free", "1", "--workers", "1"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with rendered `photos/`."""
    render_collection(tmp_path / "rendered", n_photos=12, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    return tmp_path


def run(command: list[str], place: Path) -> str:
    environment = make_environment(place / "cache")
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


@pytest.mark.slow
def test_exporter(repository: Path, place: Path) -> None:
    run(TRAIN, place)
    run_recipe(repository / "docs/extend/exporter.md", place)
    photos = sorted((place / "photos").glob("*.jpg"))
    assert {path.stem for path in (place / "out").glob("*.csv")} == {path.stem for path in photos}
    assert (place / "out/classes.txt").read_text().split()
    files = (path.read_text().splitlines() for path in (place / "out").glob("*.csv"))
    rows = [row for lines in files for row in csv.DictReader(lines)]
    assert rows
    assert all(int(row["pixels"]) > 0 for row in rows)


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
