"""Names of discovered factors."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.index import name_factor, open_index
from tagsight.index.manifest import write_manifest
from tagsight.index.names import LONGEST

from .made import K, put_posteriors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    posteriors = [np.full((2, K), 0.1) for _ in range(3)]
    posteriors[2][1, 8] = 0.9
    put_posteriors(tmp_path, posteriors)
    return tmp_path


def test_a_name_is_a_word_at_once_and_for_good(folder: Path) -> None:
    index = open_index(folder)
    assert index.name_factor("free-1", "  Zebra\tStripes ") == "zebra stripes"
    for handle in (index, open_index(folder)):
        (hit,) = handle.find("zebra stripes", top=1)
        assert hit.photo == 2
        assert hit.matches[0].factors == ("zebra stripes",)
        assert handle.find("free-1", top=1)[0].photo == 2
    assert index.names == {"free-1": "zebra stripes"}
    assert index.words[-4:] == ("free-1", "free-2", "free-3", "zebra stripes")


def test_renaming_gives_the_old_word_back(folder: Path) -> None:
    name_factor(folder, "free-1", "striped")
    name_factor(folder, "free-1", "wavy")
    assert name_factor(folder, "free-2", "striped") == "striped"
    assert open_index(folder).names == {"free-1": "wavy", "free-2": "striped"}


@pytest.mark.parametrize(
    ("factor", "name", "says"),
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
def test_names_that_will_not_do(folder: Path, factor: str, name: str, says: str) -> None:
    name_factor(folder, "free-3", "taken")
    before = (folder / "names.json").read_bytes()
    with pytest.raises(InputError, match=says):
        name_factor(folder, factor, name)
    assert (folder / "names.json").read_bytes() == before


def test_names_given_at_once_are_all_kept(folder: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda k: name_factor(folder, f"free-{k}", f"word{k}"), (1, 2, 3)))
    assert open_index(folder).names == {"free-1": "word1", "free-2": "word2", "free-3": "word3"}


def test_another_model_starts_without_names(folder: Path) -> None:
    index = open_index(folder)
    index.name_factor("free-1", "striped")
    manifest = index.manifest
    write_manifest(folder, manifest._replace(generation=2, model="e" * 64))
    assert index.names == {}
    with pytest.raises(InputError, match="does not know the word"):
        index.find("striped")
    write_manifest(folder, manifest._replace(generation=3))
    assert index.names == {"free-1": "striped"}


def test_damaged_names_are_reported(folder: Path) -> None:
    (folder / "names.json").write_text("[1")
    with pytest.raises(InputError, match=r"names\.json"):
        open_index(folder)
