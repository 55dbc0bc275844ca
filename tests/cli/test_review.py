"""The commands of a review: queues, decisions, and training with them."""

import json
import os
import shutil
import warnings
from pathlib import Path

import pytest

from tagsight.api import train
from tagsight.errors import InputError, TagsightWarning
from tagsight.review.journal import locate_journal, read_current

from .conftest import Trained, call

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made_index(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("review") / "a.index"
    assert call("index", trained.model, trained.photos / "train", "-o", folder, "--workers", 1).exit_code == 0
    return folder


@pytest.fixture
def photos(trained: Trained, tmp_path: Path) -> Path:
    """A copy of the collection, which has the times of the original files."""
    return shutil.copytree(trained.photos / "train", tmp_path / "photos")


def list_items(*arguments: object) -> list[dict[str, object]]:
    result = call("review", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def refuse(*arguments: object) -> str:
    result = call(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, InputError)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def open_there(index: Path, photos: Path) -> Path:
    """A copy of the index whose photos are in another folder."""
    from tagsight.index.manifest import read_manifest, write_manifest

    copy = Path(shutil.copytree(index, photos.parent / "copy.index"))
    write_manifest(copy, read_manifest(copy)._replace(root=str(photos)))
    return copy


def test_decided_pairs_leave_the_queues(made_index: Path, photos: Path) -> None:
    index = open_there(made_index, photos)
    for queue, state in (("suggested", "yes"), ("doubtful", "no")):
        before = list_items(photos, index, "--queue", queue, "--top", 3)
        first = before[0]
        assert call("decide", photos, state, "--photo", first["image"], "--word", first["word"]).exit_code == 0
        after = list_items(photos, index, "--queue", queue, "--top", 2)
        assert [item["word"] for item in after] == [item["word"] for item in before[1:]]
        (known,) = list_items(photos, index, "--photo", first["image"], "--word", first["word"])
        assert (known["decided"], known["model"]) == (state, first["model"])
    assert call("decide", photos, "--undo").exit_code == 0
    assert list_items(photos, index, "--queue", "doubtful", "--top", 3) == before


def test_a_model_gives_the_scores_of_its_index_and_scores_unlisted_photos(
    trained: Trained, made_index: Path, photos: Path
) -> None:
    index = open_there(made_index, photos)
    by_index = list_items(photos, index, "--queue", "suggested", "--top", 8)
    assert list_items(photos, trained.model, "--queue", "suggested", "--top", 8) == by_index
    shutil.copy(next((trained.photos / "test").glob("*.jpg")), photos / "new.jpg")
    (item,) = list_items(photos, trained.model, "--queue", "next", "--top", 1)
    assert item["image"] == "new.jpg"
    assert item["word"]
    result = call("review", photos, index, "--queue", "next", "--top", 1)
    assert "not in the index and have no scores: 1" in result.stderr


def test_photos_are_chosen_and_tagged_from_scratch(photos: Path, tmp_path: Path) -> None:
    (photos / "tags.csv").unlink()
    chosen = [str(item["image"]) for item in list_items(photos, "--queue", "next", "--top", 3)]
    assert len(set(chosen)) == 3
    for n, photo in enumerate(chosen):
        word = ["house", "fish"][n % 2]
        done = call("decide", photos, "yes", "--photo", photos / photo, "--word", word, "--kind", "object")
        assert done.exit_code == 0, done.output
    later = {item["image"] for item in list_items(photos, "--queue", "next", "--top", 3)}
    assert not later & set(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TagsightWarning)  # three photos are few
        model = train(photos, n_free=0, n_regions=20, progress=False)
    assert model.objects == ("fish", "house")
    assert model.trained.training.n_photos == 3


def test_training_uses_the_decisions_and_says_so(photos: Path, tmp_path: Path) -> None:
    words = ("--photo", "0000.jpg", "--word", "zebra", "--kind", "object")
    assert call("decide", photos, "yes", *words).exit_code == 0
    options = ("--free", 0, "--regions", 20, "--json")
    for more, says in (((), True), (("--no-decisions",), False), (("--journal", tmp_path / "j.sqlite"), None)):
        result = call("train", photos, "-o", tmp_path / "b.model", *options, *more)
        if says is None:
            assert "there is no journal" in str(result.exception)
            continue
        assert result.exit_code == 0, result.output
        assert ("applies 1 decision of the journal" in result.stderr) is says
        factors = call("factors", tmp_path / "b.model", "--json").stdout
        assert ("zebra" in factors) is says


def test_decisions_are_exported_and_imported(photos: Path, tmp_path: Path) -> None:
    assert call("decisions", photos).stdout == ""
    call("decide", photos, "no", "--photo", "0000.jpg", "--word", "zebra", "--kind", "object", "--author", "ann")
    exported = call("decisions", photos, "--csv").stdout
    (tmp_path / "d.csv").write_text(exported)
    other = tmp_path / "other.sqlite"
    assert call("decide", photos, "--file", tmp_path / "d.csv", "--journal", other).exit_code == 0
    (entry,) = read_current(other)
    assert (entry.photo, entry.word, entry.state, entry.source) == ("0000.jpg", "zebra", "no", "import")
    (line,) = call("decisions", photos, "--journal", other, "--json").stdout.splitlines()
    assert json.loads(line)["state"] == "no"
    assert call("decisions", photos).stdout.startswith("no 0000.jpg: zebra (ann, ")


def test_accepted_suggestions_are_withdrawn_and_other_decisions_stay(
    made_index: Path, photos: Path, tmp_path: Path
) -> None:
    listed = call("review", photos, open_there(made_index, photos), "--top", 4, "--json").stdout
    (tmp_path / "s.jsonl").write_text(listed)
    call("decide", photos, "no", "--photo", "0000.jpg", "--word", "zebra", "--kind", "object")
    assert "4 decisions recorded" in call("decide", photos, "yes", "--file", tmp_path / "s.jsonl").stdout
    assert "4 decisions withdrawn" in call("decide", photos, "--withdraw-suggested").stdout
    assert [entry.word for entry in read_current(locate_journal(photos))] == ["zebra"]


def test_bad_input_is_one_sentence_and_records_nothing(made_index: Path, photos: Path, tmp_path: Path) -> None:
    yes = ("decide", photos, "yes")
    (tmp_path / "d.csv").write_text("image,kind,word,state\n0000.jpg,object,zebra,yes\ngone.jpg,object,zebra,yes\n")
    cases = {
        (*yes, "--photo", "gone.jpg", "--word", "house"): "there is no photo 'gone.jpg'",
        (*yes, "--photo", "../a.jpg", "--word", "house"): "not the path of a photo",
        (*yes, "--photo", "0000.jpg", "--word", "zebra"): "state with --kind",
        (*yes, "--photo", "0000.jpg", "--word", "zebra", "--kind", "noun"): "choose object or attribute",
        (*yes, "--photo", "0000.jpg", "--word", "house", "--kind", "attribute"): "'house' is an object here",
        (*yes, "--photo", "0000.jpg", "--word", "a\x1b[2J", "--kind", "object"): "control characters",
        (*yes, "--photo", "0000.jpg", "--word", "free-1", "--kind", "object"): "uses itself",
        (*yes, "--photo", "0000.jpg"): "give a decision with",
        ("decide", photos): "give a decision with",
        ("decide", photos, "maybe", "--photo", "0000.jpg", "--word", "house"): "choose yes, no or unsay",
        (*yes, "--undo"): "leave it out",
        ("decide", photos, "--undo"): "there is no journal",
        ("decide", photos, "--file", tmp_path / "d.csv"): "there is no photo 'gone.jpg'",
        ("decisions", photos, "--csv", "--json"): "not both",
        ("review", photos): "give a MODEL or an INDEX",
        ("review", photos, made_index): "has none of the photos",
        ("review", photos, photos): "there is no index",
        ("review", photos, made_index, "--queue", "best"): "choose one of suggested, doubtful, next",
        ("review", photos, made_index, "--queue", "next", "--photo", "0000.jpg"): "leave --photo out",
    }
    for arguments, message in cases.items():
        assert message in refuse(*arguments), arguments
    assert not locate_journal(photos).parent.exists()


def test_hostile_names_are_escaped(photos: Path) -> None:
    name = "a\x1b[2J.jpg"
    shutil.copy(photos / "0000.jpg", photos / name)
    (photos / "tags.csv").unlink()
    listed = call("review", photos, "--queue", "next", "--top", 100).stdout
    assert "\x1b" not in listed
    assert r"a\x1b[2J.jpg" in listed
    assert "control characters" in refuse("decide", photos, "yes", "--photo", name, "--word", "cat", "--kind", "object")


def test_files_of_the_user_are_never_changed(photos: Path) -> None:
    (photos / ".tagsight").mkdir()
    (photos / ".tagsight/decisions.sqlite").write_text("mine")
    before = {path.name: path.read_bytes() for path in photos.rglob("*") if path.is_file()}
    yes = ("--photo", "0000.jpg", "--word", "zebra", "--kind", "object")
    for arguments in (("decide", photos, "yes", *yes), ("decisions", photos), ("train", photos, "-o", photos / "m")):
        assert "is not a journal of tagsight" in refuse(*arguments)
    assert {path.name: path.read_bytes() for path in photos.rglob("*") if path.is_file()} == before
    assert os.listdir(photos / ".tagsight") == ["decisions.sqlite"]
