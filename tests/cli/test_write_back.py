"""The write-back command and its how-to page."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from tagsight.cli import write_back
from tagsight.data.readers import open_collection
from tagsight.data.writers import lock_collection
from tagsight.errors import InputError
from tests.pages import make_environment, read_commands

from .conftest import call

TAGS = '\ufeffimage,note,objects\r\n0000.jpg,"a, b",cat\r\n# a remark\r\n0001.jpg,,horse; dog'
CHANGES = "photo,word,kind,present\n0000.jpg,horse,object,yes\n0001.jpg,horse,object,0\n"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("0000.jpg", "0001.jpg"):
        Image.new("RGB", (4, 4)).save(folder / name)
    (folder / "tags.csv").write_bytes(TAGS.encode())
    (tmp_path / "changes.csv").write_text(CHANGES)
    return folder


def list_contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(photos: Path, *options: object) -> Any:
    return call("write-back", photos, "--changes", photos.parent / "changes.csv", *options)


def test_a_dry_run_prints_the_differences_and_writes_nothing(photos: Path) -> None:
    before = list_contents(photos)
    result = write(photos, "--dry-run")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "--- tags.csv",
        "+++ tags.csv",
        "@@ -1,4 +1,4 @@",
        " image,note,objects",
        '-0000.jpg,"a, b",cat',
        '+0000.jpg,"a, b",cat;horse',
        " # a remark",
        "-0001.jpg,,horse; dog",
        "+0001.jpg,,dog",
        "1 file to change",
    ]
    assert list_contents(photos) == before
    write(photos, "--to", "xmp", "--dry-run")
    assert list_contents(photos) == before


def test_writing_twice_changes_nothing_the_second_time(photos: Path) -> None:
    first = write(photos)
    assert first.exit_code == 0, first.output
    assert first.stdout.splitlines()[-2:] == ["the earlier tags.csv is kept as tags.csv.bak", "1 file changed"]
    after = list_contents(photos)
    assert set(after) == {"0000.jpg", "0001.jpg", "tags.csv", "tags.csv.bak"}
    assert after["tags.csv"].decode() == TAGS.replace("cat", "cat;horse").replace("horse; dog", "dog")
    assert after["tags.csv.bak"].decode() == TAGS
    second = write(photos)
    assert (second.exit_code, second.stdout) == (0, "0 files changed\n")
    assert list_contents(photos) == after


def test_sidecars_are_written_and_read_by_another_parser(photos: Path) -> None:
    result = write(photos, "--to", "xmp")
    assert result.exit_code == 0, result.output
    assert "+++ 0000.jpg.xmp" in result.stdout
    assert result.stdout.endswith("1 file changed\n")
    root = ElementTree.parse(photos / "0000.jpg.xmp")
    subject = root.find(".//{http://purl.org/dc/elements/1.1/}subject")
    assert subject is not None
    assert [item.text for item in subject.iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li")] == ["horse"]
    assert write(photos, "--to", "xmp").stdout == "0 files changed\n"
    assert set(os.listdir(photos)) == {"0000.jpg", "0001.jpg", "tags.csv", "0000.jpg.xmp"}


def test_changes_that_cannot_be_made_are_listed_and_the_others_are_made(photos: Path) -> None:
    (photos.parent / "changes.csv").write_text(f"{CHANGES}gone.jpg,cat,object,yes\n0000.jpg,free-1,object,yes\n")
    result = write(photos)
    assert result.exit_code == 1
    problems = result.stderr.splitlines()
    assert len(problems) == 2
    assert "0000.jpg': 'free-1' cannot be a tag" in problems[0]
    assert "gone.jpg': no such photo" in problems[1]
    assert "0000.jpg" in (photos / "tags.csv").read_text()
    assert open_collection(photos).vocabulary.objects == ("cat", "dog", "horse")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("photo,word,kind\n0000.jpg,x,object\n", "has the columns photo, word, kind: it must have"),
        ("photo,word,kind,present\n0000.jpg,x,object,maybe\n", "line 2: 'present' is 'maybe', none of true, yes"),
        ("photo,word,kind,present\n0000.jpg,x,verb,yes\n", "line 2: 'kind' is 'verb', none of object"),
        ("photo,word,kind,present\n0000.jpg, ,object,yes\n", "line 2: 'word' is ' ', not a text: correct that line"),
        ("photo,word,kind,present\n0000.jpg,x,object\n", "line 2: 3 cells where the header has 4"),
        ("", "is empty"),
    ],
)
@pytest.mark.parametrize("to", ["tags", "xmp"])
def test_a_wrong_list_of_changes_changes_nothing(photos: Path, content: str, message: str, to: str) -> None:
    (photos.parent / "changes.csv").write_text(content)
    before = list_contents(photos.parent)
    result = write(photos, "--to", to)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
    assert list_contents(photos.parent) == before


def test_json_lines_of_changes_are_read(photos: Path) -> None:
    changes = photos.parent / "changes.jsonl"
    changes.write_text('{"photo": "0000.jpg", "word": "horse", "kind": "noun", "present": true}\n')
    assert call("write-back", photos, "--changes", changes).exit_code == 0
    assert b"cat;horse" in (photos / "tags.csv").read_bytes()


def test_a_tags_file_that_another_program_changes_meanwhile_is_kept(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_changes = write_back.plan_changes

    def plan_slowly(*arguments: Any) -> Iterator[Any]:
        for planned in plan_changes(*arguments):
            (photos / "tags.csv").write_text("image,objects\n0000.jpg,other\n")
            yield planned

    monkeypatch.setattr(write_back, "plan_changes", plan_slowly)
    result = write(photos)
    assert result.exit_code == 1
    (message,) = result.stderr.splitlines()
    assert "tags.csv' was changed by another program" in message
    assert set(os.listdir(photos)) == {"0000.jpg", "0001.jpg", "tags.csv"}
    assert (photos / "tags.csv").read_text() == "image,objects\n0000.jpg,other\n"


def test_only_one_command_writes_at_a_time(photos: Path) -> None:
    before = list_contents(photos)
    with lock_collection(photos):
        result = write(photos)
        assert "another command is writing tags" in str(result.exception)
        assert write(photos, "--dry-run").exit_code == 0
    assert list_contents(photos) == before
    assert write(photos).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("photos", "--to", "exif"), "tags cannot be written to 'exif': choose one of tags, xmp"),
        (("absent",), "does not exist"),
        (("absent", "--to", "xmp"), "does not exist"),
    ],
)
def test_wrong_arguments_make_no_file(photos: Path, arguments: tuple[str, ...], message: str) -> None:
    before = list_contents(photos.parent)
    place, *options = arguments
    result = call("write-back", photos.parent / place, "--changes", photos.parent / "changes.csv", *options)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert list_contents(photos.parent) == before
    assert not (photos.parent / "absent").exists()


def test_hostile_names_and_words_do_not_control_the_terminal(photos: Path) -> None:
    (photos / "\x1b[2J.jpg").touch()
    changes = photos.parent / "changes.jsonl"
    changes.write_text(
        '{"photo": "\\u001b[2J.jpg", "word": "x\\u001b[2J", "kind": "object", "present": true}\n'
        '{"photo": "\\u001b[2J.jpg", "word": "=1+1", "kind": "object", "present": true}\n'
    )
    for to in ("tags", "xmp"):
        result = call("write-back", photos, "--changes", changes, "--to", to)
        assert "\x1b" not in result.output
        assert "=1+1" in result.stdout


def test_the_how_to_runs(photos: Path, repository: Path, tmp_path: Path) -> None:
    (photos / "tags.csv").write_text("image,objects,attributes\n0000.jpg,cat,big\n0001.jpg,horse,\n")
    lines = read_commands(repository / "docs/howto/write-back.md")
    assert sum(line.startswith("tagsight ") for line in lines) == 5
    environment = make_environment(tmp_path / "cache")
    printed: list[str] = []
    for line in lines:
        run = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
        printed.append(run.stdout)
    assert (photos / "tags.csv").read_text() == "image,objects,attributes\n0000.jpg,cat;horse,big;furry\n0001.jpg,,\n"
    assert "1 objects: horse 1" in printed[-1]
    assert set(os.listdir(photos)) == {"0000.jpg", "0001.jpg", "0000.jpg.xmp", "tags.csv", "tags.csv.bak"}
