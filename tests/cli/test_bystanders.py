"""Every command refuses an output path with files of the user in one sentence, and keeps the files."""

import os
import shutil
from pathlib import Path

import pytest

from tagsight.data.listing import list_photos
from tagsight.engine.ray import batch
from tagsight.errors import InputError
from tagsight.predict.model_file import load_model

from .conftest import Trained, call


@pytest.fixture(scope="module")
def made_index(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "a.index"
    assert call("index", trained.model, trained.photos / "test", "-o", folder, "--workers", 1).exit_code == 0
    return folder


@pytest.fixture
def home(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, where the commands are called: photos, models, notes, and an unrelated a.png."""
    source = sorted((trained.photos / "train").glob("*.jpg"))
    (tmp_path / "photos").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "models").mkdir()
    shutil.copy(trained.model, tmp_path / "models/my.model")
    for name, photo in zip(("photos/1.jpg", "photos/2.jpg", "a.jpg"), source, strict=False):
        shutil.copy(photo, tmp_path / name)
    for name in ("photos/list.txt", "parts/desk.csv", "a.png", "a.overlay.jpg", "a.json", "instances_masks.json"):
        (tmp_path / name).write_text("mine")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("demo -o .", "which tagsight did not write: choose a new or an empty folder"),
        ("demo -o photos", "which tagsight did not write"),
        ("demo -o a.png", "is a file"),
        ("index models/my.model photos -o .", "which tagsight did not write: choose a new or an empty folder"),
        ("index models/my.model photos -o photos", "which tagsight did not write"),
        ("index models/my.model photos -o a.png", "is a file"),
        ("train photos -o photos", "is a folder"),
        ("train photos -o a.png", "is there already and is not a tagsight model"),
        ("train photos -o a.png/my.model", "is not a folder"),
        ("factors models/my.model -o a.png", "is there already and is not a page"),
        ("factors models/my.model -o photos", "is a folder"),
        ("factors models/my.model -o a.png/page.html", "is not a folder"),
        ("segment models/my.model a.jpg -o .", "is there already"),
        ("segment models/my.model a.jpg -o . --overlay", "is there already"),
        ("segment models/my.model a.jpg -o a.png", "is a file"),
        ("export models/my.model a.jpg -o . --format coco", "is there already"),
        ("export models/my.model a.jpg -o . --format labelme", "is there already"),
        ("export models/my.model a.jpg -o a.png --format coco", "is a file"),
        ("write-back photos --changes photos/list.txt", "is neither .csv nor .jsonl"),
        ("write-back photos --changes parts/desk.csv", "it must have photo,word,kind,present"),
        ("write-back photos --changes a.png --to xmp", "is neither .csv nor .jsonl"),
    ],
)
def test_files_of_the_user_are_never_changed(home: Path, command: str, message: str) -> None:
    (home / "photos/tags.csv").write_text("image,objects,attributes\n1.jpg,cat,\n2.jpg,dog,\n")
    before = list_contents(home)
    result = call(*command.split())
    assert result.exit_code == 1
    assert isinstance(result.exception, InputError | SystemExit)  # what is left out is listed on standard error
    assert message in f"{result.exception} {result.output}"
    assert "\n" not in str(result.exception)
    assert list_contents(home) == before


def test_masks_of_png_photos_do_not_replace_them(home: Path) -> None:
    from PIL import Image

    for name in ("b.png", "c.png"):
        with Image.open("a.jpg") as photo:
            photo.save(name)
    before = list_contents(home)
    result = call("segment", "models/my.model", "b.png", "c.png", "-o", ".")
    assert isinstance(result.exception, InputError)
    assert "b.png' is one of the photos given" in str(result.exception)
    assert list_contents(home) == before


@pytest.mark.parametrize("more", [["segment", "--overlay"], ["export", "--format", "voc"]])
def test_masks_are_replaced_by_those_of_the_next_run(home: Path, more: list[str]) -> None:
    name, *options = more
    for _ in range(2):
        assert call(name, "models/my.model", "photos", "-o", "masks", *options).exit_code == 0
    (mask,) = (home / "masks").rglob("1.png")
    mask.write_text("corrected by hand")
    result = call(name, "models/my.model", "photos", "-o", "masks", *options)
    assert result.exit_code == 1
    assert "1.png' is there already and not as tagsight wrote it" in f"{result.exception} {result.output}"
    assert mask.read_text() == "corrected by hand"


@pytest.mark.parametrize("more", [["segment", "--overlay"], ["export", "--format", "voc"]])
@pytest.mark.parametrize("place", ["photos", "photos/masks"])
def test_masks_among_the_photos_are_not_photos(home: Path, more: list[str], place: str) -> None:
    name, *options = more
    assert call(name, "models/my.model", "photos", "-o", place, *options).exit_code == 0
    first = list_contents(home)
    assert call(name, "models/my.model", "photos", "-o", place, *options).exit_code == 0
    assert list_contents(home) == first
    assert [path.name for path in list_photos(home / "photos").photos] == ["1.jpg", "2.jpg"]
    (mask,) = (home / place).rglob("1.png")
    shutil.copy("a.jpg", mask)
    assert mask in list_photos(home / "photos").photos, "what the user put in its place is a photo"


def test_a_page_is_replaced_by_a_page(home: Path, made_index: Path) -> None:
    for _ in range(2):
        assert call("factors", "models/my.model", "-o", "factors.html").exit_code == 0
        assert call("find", made_index, "free-1", "-o", "found.html").exit_code == 0
    result = call("find", made_index, "free-1", "-o", "a.png")
    assert "is there already and is not a page" in str(result.exception)
    assert (home / "a.png").read_text() == "mine"


def test_an_index_keeps_files_that_someone_put_into_it(home: Path, trained: Trained) -> None:
    for photos in ("photos", trained.photos / "test"):
        assert call("index", "models/my.model", photos, "-o", "my.index", "--workers", 1).exit_code == 0
        (home / "my.index/parts/notes.txt").write_text("mine")
        (home / "my.index/models/other.model").write_text("mine")
    (home / "photos/1.jpg").unlink()
    assert call("index", "models/my.model", "photos", "-o", "my.index", "--workers", 1).exit_code == 0
    assert (home / "my.index/parts/notes.txt").read_text() == "mine"
    assert (home / "my.index/models/other.model").read_text() == "mine"


def test_an_index_without_a_marker_is_updated(home: Path) -> None:
    assert call("index", "models/my.model", "photos", "-o", "my.index", "--workers", 1).exit_code == 0
    (home / "my.index/.tagsight.json").unlink()
    assert call("index", "models/my.model", "photos", "-o", "my.index", "--workers", 1).exit_code == 0


def test_a_model_is_replaced_by_a_model(home: Path, trained: Trained) -> None:
    result = call("train", trained.photos / "train", "-o", "models/my.model", "--free", 3, "--regions", 30, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert load_model(home / "models/my.model").training.seed == 1
    assert sorted(os.listdir(home / "models")) == ["my.model"]


def test_only_folders_of_ray_are_removed_from_the_cache(home: Path) -> None:
    (home / "ray/holiday").mkdir(parents=True)
    (home / "ray/holiday/photo.jpg").write_text("mine")
    (home / "ray/0123456789abcdef").mkdir()
    batch._remove_abandoned(home / "ray")
    assert sorted(os.listdir(home / "ray")) == ["holiday"]
