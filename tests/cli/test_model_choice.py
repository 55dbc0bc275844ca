"""The rule for the first argument of commands: the model, or the first photo of the starter model."""

import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tagsight.cli.model_choice import names_model, split_one, split_photos
from tagsight.errors import InputError

from .conftest import Trained, call

A = Path("a.jpg")


@pytest.fixture
def home(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a user, where the commands are called."""
    photo = next((trained.photos / "test").glob("*.jpg"))
    (tmp_path / "photos").mkdir()
    for name in ("a.jpg", "photos/b.jpg", "scan"):
        shutil.copy(photo, tmp_path / name)
    for name in ("my.model", "mine", "odd.jpg"):
        shutil.copy(trained.model, tmp_path / name)
    (tmp_path / "broken.jpg").write_text("<html>")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "short.model").write_bytes(trained.model.read_bytes()[:500])
    (tmp_path / "cut").write_bytes(trained.model.read_bytes()[:500])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "model", ["my.model", "mine", "odd.jpg", "short.model", "absent.model", "ABSENT.MODEL", "starter"]
)
def test_a_model_is_known_by_its_content_its_suffix_or_its_name(home: Path, model: str) -> None:
    assert names_model(Path(model))
    assert split_photos([Path(model), A, Path("photos")]) == (Path(model), [A, Path("photos")])
    assert split_one([Path(model), A], "photo") == (Path(model), [A])


@pytest.mark.parametrize(
    "photo", ["a.jpg", "photos", "scan", "broken.jpg", "absent.jpg", "absent.PNG", "raw.nef", "x.heic"]
)
def test_photos_and_folders_alone_are_for_the_starter_model(home: Path, photo: str) -> None:
    assert not names_model(Path(photo))
    assert split_photos([Path(photo)]) == (None, [Path(photo)])
    assert split_photos([Path(photo), A]) == (None, [Path(photo), A])
    assert split_one([Path(photo)], "photo") == (None, [Path(photo)])


@pytest.mark.parametrize("kind", ["folder", "photo"])
def test_a_folder_or_photo_has_precedence_over_a_shipped_model_of_its_name(home: Path, kind: str) -> None:
    shutil.copytree("photos", "starter") if kind == "folder" else shutil.copy("scan", "starter")
    assert split_photos([Path("starter")]) == (None, [Path("starter")])
    Path("folder.model").mkdir()
    assert split_photos([Path("folder.model")]) == (None, [Path("folder.model")])


def test_a_model_file_has_precedence_over_a_shipped_model_of_its_name(home: Path) -> None:
    shutil.copy("my.model", "starter")
    result = call("factors", "starter", "--json")
    assert result.exit_code == 0
    assert "free-3" in result.stdout
    assert "free-4" not in result.stdout


@pytest.mark.parametrize("first", ["my.modle", "starte", "Starter", "nofolder/", "notes.txt", "cut", "photos/mine", ""])
@pytest.mark.parametrize("rest", [[], ["a.jpg"], ["photos", "absent.jpg"]])
def test_what_is_neither_a_model_nor_a_photo_is_refused(home: Path, first: str, rest: list[str]) -> None:
    if first == "":
        first = str(home / "pipe")
        os.mkfifo(first)
    with pytest.raises(InputError) as caught:
        split_photos([Path(first), *map(Path, rest)])
    assert repr(str(Path(first))) in str(caught.value)
    assert "is neither a model nor a photo" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.jpg my.model", "the model 'my.model' must be the first argument"),
        ("a.jpg mine", "the model 'mine' must be the first argument"),
        ("a.jpg starter", "the model 'starter' must be the first argument"),
        ("my.model short.model a.jpg", "the model 'short.model' must be the first argument, and the only model"),
        ("my.model", "there is no photo after the model 'my.model'"),
        ("starter", "there is no photo after the model 'starter'"),
        ("absent.model", "there is no photo after the model 'absent.model'"),
    ],
)
@pytest.mark.parametrize("command", ["annotate", "segment -o out", "export -o out --format coco"])
def test_a_model_in_the_wrong_place_or_without_photos_is_refused(
    home: Path, command: str, arguments: str, message: str
) -> None:
    name, *options = command.split()
    result = call(name, *arguments.split(), *options)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert (result.stdout, result.stderr) == ("", "")
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["annotate", "segment -o out", "export -o out --format coco"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("my.modle a.jpg", "'my.modle' is neither a model nor a photo: there is no model file of that name"),
        ("absent.model a.jpg", "there is no model file 'absent.model'; make one with 'tagsight train'"),
        ("short.model a.jpg", "'short.model' is not a model file, or is cut short"),
    ],
)
def test_a_wrong_model_is_never_replaced_by_the_starter_model(
    home: Path, command: str, arguments: str, message: str
) -> None:
    name, *options = command.split()
    result = call(name, *arguments.split(), *options)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert (result.stdout, result.stderr) == ("", "")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("describe a.jpg scan --object cat", "'a.jpg' is not a model file"),
        ("describe my.modle a.jpg --object cat", "there is no model file 'my.modle'"),
        ("describe my.model --object cat", "there is no photo after the model 'my.model': give one"),
        ("describe my.model a.jpg scan --object cat", "give one photo, and before it a model if you like; got 3"),
        ("describe my.modle --object cat", "'my.modle' cannot be read as a photo"),
        ("index my.modle photos -o i", "there is no model file 'my.modle'"),
        ("index my.model -o i", "there is no collection after the model 'my.model': give one"),
        ("index my.model photos photos -o i", "give one collection, and before it a model if you like; got 3"),
        ("index my.modle -o i", "'my.modle' does not exist"),
        ("factors my.modle", "there is no model file 'my.modle'"),
    ],
)
def test_commands_with_one_operand_count_their_arguments(home: Path, command: str, message: str) -> None:
    result = call(*command.split())
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert result.stdout == ""
    assert not Path("i").exists()


def test_photos_are_not_opened_to_look_for_a_model(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("tagsight.cli.model_choice.is_model", lambda path: opened.append(path) or False)
    many = [Path(f"{number}.jpg") for number in range(50)]
    for path in many:
        Image.new("RGB", (2, 2)).save(path)
    assert split_photos(many) == (None, many)
    assert opened == many[:1]


@pytest.mark.parametrize("command", ["annotate", "describe", "segment", "export", "index", "factors"])
def test_the_help_states_the_default_model(command: str) -> None:
    shown = " ".join(call(command, "--help").output.replace("│", " ").split())
    assert "a model file of 'tagsight train', or a name of 'tagsight models'. Default: the model 'starter'." in shown
