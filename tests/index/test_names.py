"""Names of discovered factors."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.index import name_factor, open_index, remove_name
from tagsight.index.manifest import read_manifest, write_manifest
from tagsight.index.names import LONGEST, read_names
from tests.cli.conftest import call

from .made import K, put_posteriors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    posteriors = [np.full((2, K), 0.1) for _ in range(3)]
    posteriors[2][1, 8] = 0.9
    put_posteriors(tmp_path, posteriors)
    return tmp_path


def test_a_name_is_a_word_at_once_and_is_stored(folder: Path) -> None:
    index = open_index(folder)
    assert index.name_factor("free-1", "  Zebra\tStripes ") == "zebra stripes"
    for handle in (index, open_index(folder)):
        (hit,) = handle.find("zebra stripes", top=1)
        assert hit.photo == 2
        assert hit.matches[0].factors == ("zebra stripes",)
        assert handle.find("free-1", top=1)[0].photo == 2
    assert index.names == {"free-1": "zebra stripes"}
    assert index.words[-4:] == ("free-1", "free-2", "free-3", "zebra stripes")


def test_renaming_frees_the_old_name(folder: Path) -> None:
    name_factor(folder, "free-1", "striped")
    name_factor(folder, "free-1", "wavy")
    assert name_factor(folder, "free-2", "striped") == "striped"
    assert open_index(folder).names == {"free-1": "wavy", "free-2": "striped"}


@pytest.mark.parametrize(
    ("factor", "name", "message"),
    [
        ("free-1", "horse", "already"),
        ("free-1", "HORSE", "already"),
        ("free-1", "free-2", "already"),
        ("free-1", "taken", "already"),
        ("free-1", " \u200b ", "empty"),
        ("free-1", "x" * (LONGEST + 1), "characters"),
        ("free-1", "-dark", "minus"),
        ("free-1", "a, b", "comma"),
        ("free-1", 'say "x"', "quote"),
        ("free-1", "\ud800", "Unicode"),
        ("free-4", "dotted", "free-1 to free-3"),
        ("horse", "dotted", "free-1 to free-3"),
    ],
)
def test_invalid_names_are_refused(folder: Path, factor: str, name: str, message: str) -> None:
    name_factor(folder, "free-3", "taken")
    before = (folder / "names.json").read_bytes()
    with pytest.raises(InputError, match=message):
        name_factor(folder, factor, name)
    assert (folder / "names.json").read_bytes() == before


def test_a_removed_name_is_not_a_word(folder: Path) -> None:
    index = open_index(folder)
    index.name_factor("free-1", "striped")
    index.name_factor("free-2", "dotted")
    assert index.remove_name("Free-1") == "striped"
    for handle in (index, open_index(folder)):
        assert handle.names == {"free-2": "dotted"}
        assert "striped" not in handle.words
        with pytest.raises(InputError, match="has no word"):
            handle.find("striped")
    assert name_factor(folder, "free-3", "striped") == "striped"


@pytest.mark.parametrize(("factor", "message"), [("free-1", "has no name"), ("free-4", "free-1 to free-3")])
def test_removing_a_missing_name_is_refused(folder: Path, factor: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        remove_name(folder, factor)


@pytest.mark.parametrize("arguments", [["free-1", "striped"], ["free-1", "--remove"]])
def test_a_folder_without_an_index_is_not_changed(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "photos").mkdir()
    for wrong in (tmp_path / "photos", tmp_path / "nowhere", tmp_path / "no/where"):
        problem = call("name", wrong, *arguments).exception
        assert "there is no index in" in str(problem)
    assert [path.name for path in tmp_path.rglob("*")] == ["photos"]


def test_the_command_gives_and_removes_a_name(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    assert call("name", folder, "free-1", "striped").stdout == "free-1 is now 'striped'\n"
    assert open_index(folder).names == {"free-1": "striped"}
    assert call("name", folder, "free-1", "--remove").stdout == "free-1 is no longer 'striped'\n"
    assert open_index(folder).names == {}
    assert {path.name for path in folder.iterdir()} == before | {"names.json"}
    for arguments in ([], ["striped", "--remove"]):
        assert "either a WORD for the factor or --remove" in str(call("name", folder, "free-1", *arguments).exception)


def test_names_given_at_the_same_time_are_all_stored(folder: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda k: name_factor(folder, f"free-{k}", f"word{k}"), (1, 2, 3)))
    assert open_index(folder).names == {"free-1": "word1", "free-2": "word2", "free-3": "word3"}


def test_another_model_starts_without_names(folder: Path) -> None:
    index = open_index(folder)
    index.name_factor("free-1", "striped")
    manifest = index.manifest
    write_manifest(folder, manifest._replace(generation=2, model="e" * 64))
    assert index.names == {}
    with pytest.raises(InputError, match="has no word"):
        index.find("striped")
    write_manifest(folder, manifest._replace(generation=3))
    assert index.names == {"free-1": "striped"}


def test_damaged_names_are_reported(folder: Path) -> None:
    (folder / "names.json").write_text("[1")
    with pytest.raises(InputError, match=r"names\.json"):
        open_index(folder)


def test_a_changed_name_is_detected_and_names_without_a_checksum_are_read(folder: Path) -> None:
    manifest = read_manifest(folder)
    factor = manifest.factor_names[-1]
    name_factor(folder, factor, "wavy")
    file = folder / "names.json"
    file.write_text(file.read_text().replace("wavy", "wary"))
    with pytest.raises(InputError, match="its checksum does not match"):
        read_names(folder, manifest)
    file.write_text(json.dumps({manifest.model: {factor: "wavy"}}))
    assert read_names(folder, manifest) == {factor: "wavy"}
