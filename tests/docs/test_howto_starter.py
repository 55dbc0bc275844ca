"""The commands of the page on the starter model run, as do the README's; its table and its text have true figures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.starter_model import make_table
from benchmarks.starter_picture import NAMES, PHOTOS, PICTURE, format_answer

import tagsight
from tagsight.predict.shipped import SHIPPED, STARTER, read_figures
from tests.pages import make_environment, read_blocks, read_commands


@pytest.fixture
def place(repository: Path, tmp_path: Path) -> Path:
    """A folder with `a.jpg` and `new/`."""
    first, second = ((repository / "docs/images/photos" / name).read_bytes() for name in NAMES)
    (tmp_path / "new").mkdir()
    (tmp_path / "a.jpg").write_bytes(second)
    (tmp_path / "new/b.jpg").write_bytes(first)
    return tmp_path


@pytest.mark.slow
def test_the_page_starter_md_runs(repository: Path, place: Path) -> None:
    page = repository / "docs/howto/starter.md"
    environment = make_environment(place / "cache")
    lines = read_commands(page)
    assert len(lines) == 8
    for line in lines:
        run = subprocess.run(["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
        assert ("using the model 'starter'" in run.stderr) == (not line.startswith("tagsight models")), line
    for made in ("masks/a.png", "masks/a.overlay.jpg", "out/instances_masks.json", "my.index/manifest.json"):
        assert (place / made).stat().st_size > 0
    (code,) = read_blocks(page, "python")
    run = subprocess.run([sys.executable, "-c", code], cwd=place, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert [line.split(" [('")[1].split("'")[0] for line in run.stdout.splitlines()] == ["person", "cat"]


def test_the_table_has_the_figures_of_the_model(repository: Path) -> None:
    page = (repository / "docs/howto/starter.md").read_text()
    assert f"<!-- starter-table -->\n{make_table(read_figures(SHIPPED[STARTER]))}<!-- /starter-table -->" in page


@pytest.mark.parametrize("name", ["README.md", "docs/howto/starter.md"])
def test_the_text_states_the_size_of_the_model(repository: Path, name: str) -> None:
    text = " ".join((repository / name).read_text().split())
    model = tagsight.load()
    assert re.search(rf"{len(model.objects)} objects\b", text)
    assert re.search(rf"\b{len(model.attributes)} attributes\b", text)
    assert f"{model.trained.training.n_photos:,} training photos" in text


def test_the_output_in_the_readme_is_that_of_the_model(repository: Path) -> None:
    """Scores may differ by rounding between processors."""
    readme = (repository / "README.md").read_text()
    (shown,) = re.findall(r"<!-- starter-output -->\n```\n(.*?)\n```\n<!-- /starter-output -->", readme, re.DOTALL)
    answer = format_answer(tagsight.load(), PHOTOS / NAMES[0])
    names, scores = re.compile(r"[a-z][^\d:,]*"), re.compile(r"\d\.\d\d")
    assert names.findall(shown) == names.findall(answer), "run benchmarks/starter_picture.py"
    assert [*map(float, scores.findall(shown))] == pytest.approx([*map(float, scores.findall(answer))], abs=0.011)
    assert f"tagsight annotate {NAMES[0]}\n" in readme


def test_the_photos_are_credited_and_the_picture_is_small(repository: Path) -> None:
    credited = set(re.findall(r"^([\w.]+): ", (PHOTOS / "CREDITS.txt").read_text(), re.MULTILINE))
    assert {path.name for path in PHOTOS.iterdir()} == credited | {"CREDITS.txt"}
    assert PICTURE.stat().st_size <= 200_000
