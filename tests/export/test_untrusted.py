"""Every format is well-formed and reads back for any names of photos and tags."""

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export import FORMATS, choose_format, write_export
from tagsight.export.output import Target
from tagsight.export.record import name_photo

from .made import RING, make_files, make_photo

NASTY = [
    "a\"b'",
    "line\nbreak\r\ttab",
    "<script>&amp;]]>",
    "ünï 🙂 日本",
    "{% $x %}",
    "-- \\ #:|,",
    "\u2028\x85\ufeff",
    " ",
]
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
files = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=40)


@pytest.mark.parametrize("format", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(words.filter(lambda word: word != "score"), words.filter(lambda word: word != "score"), files)
def test_any_words_and_names_are_read_back(format: str, noun: str, adjective: str, file: str) -> None:
    check(format, Vocabulary((noun,), (adjective,)), f"{file}.jpg")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", NASTY)
def test_hostile_words_and_names_are_read_back(format: str, text: str) -> None:
    check(format, Vocabulary((text, "other"), (f"{text}!",)), f"{text}/{text}.jpg")


def check(format: str, vocabulary: Vocabulary, name: str) -> None:
    target = Target(vocabulary, Path("/nowhere"))
    made = make_files(FORMATS[format].write, make_photo(RING, name, vocabulary=vocabulary), target=target)
    assert set(made) >= set(FORMATS[format].files)
    parsed = {file: PARSERS.get(PurePosixPath(file).suffix, bytes)(content) for file, content in made.items()}
    if format in READ_BACK:
        assert READ_BACK[format](parsed, vocabulary, name)


PARSERS: dict[str, Callable[[bytes], Any]] = {
    ".json": lambda content: json.loads(content.decode("utf-8")),
    ".xml": ElementTree.fromstring,
    ".xmp": ElementTree.fromstring,
    ".txt": bytes.decode,
    ".yaml": lambda content: content.decode("ascii"),
}


def _read_back_coco(parsed: dict[str, Any], vocabulary: Vocabulary, name: str) -> bool:
    noun = vocabulary.objects[0]
    return all(
        (content["images"][0]["file_name"], content["categories"][0]["name"]) == (name, noun)
        for content in parsed.values()
    )


def _read_back_labelstudio(parsed: dict[str, Any], vocabulary: Vocabulary, name: str) -> bool:
    offered = parsed["config.xml"].find("BrushLabels")[0].get("value")
    return parsed["tasks.json"][0]["predictions"][0]["result"][0]["value"]["brushlabels"] == [offered]


def _read_back_labelme(parsed: dict[str, Any], vocabulary: Vocabulary, name: str) -> bool:
    return next(iter(parsed.values()))["shapes"][0]["label"] == vocabulary.objects[0]


# Whether names are in the files of one photo as they are in the vocabulary, by format; its own test does the rest.
READ_BACK: dict[str, Callable[[dict[str, Any], Vocabulary, str], bool]] = {
    "coco": _read_back_coco,
    "cvat": lambda parsed, _, name: parsed["annotations/default.json"]["items"][0]["image"]["path"] == name,
    "labelme": _read_back_labelme,
    "labelstudio": _read_back_labelstudio,
    "voc": lambda parsed, words, _: parsed["class_names.txt"].count("\n") == len(words.objects) + 1,
    "yolo": lambda parsed, words, _: parsed["data.yaml"].count("\n") == len(words.objects) + 3,
}


def test_a_name_that_is_not_valid_unicode_is_refused() -> None:
    with pytest.raises(InputError, match="not valid Unicode text"):
        name_photo(Path("/p/\udcff.jpg"), Path("/p"))


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=f"no format 'cocoa'; choose one of {', '.join(FORMATS)}$"):
        choose_format("cocoa")


def test_a_folder_that_cannot_be_written_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = Target(Vocabulary(("horse",), ()), tmp_path / "file")
    with pytest.raises(InputError, match=r"file.* is a file: give the name of a folder"):
        list(write_export([make_photo(RING, "a.jpg", vocabulary=target.vocabulary)], FORMATS["coco"], target))


def test_photos_are_exported_one_at_a_time(tmp_path: Path) -> None:
    """When a photo is requested, the files of all earlier photos exist."""
    target = Target(Vocabulary(("horse",), ()), tmp_path)

    def photos():
        for n in range(3):
            assert len(list(tmp_path.glob("*.json"))) == n
            yield make_photo(RING, f"{n}.jpg", vocabulary=target.vocabulary)

    assert list(write_export(photos(), FORMATS["labelme"], target)) == []
    assert sorted(file.name for file in tmp_path.glob("[!.]*")) == ["0.json", "1.json", "2.json"]
