"""The reference documents every public name, and every type that a documented function returns."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tagsight

ENTRY = re.compile(r"^\.\. auto\w+:: ([\w.]+)\n((?: +:.*\n)*)", re.MULTILINE)
ELSEWHERE = {"Any", "Array", "Floats", "Image", "Ints", "Iterator", "None", "PIL", "Path", "Self"}


@pytest.fixture(scope="module")
def entries(repository: Path) -> dict[str, str]:
    """The options of each entry, by the last part of its name."""
    text = (repository / "docs/reference/api.md").read_text(encoding="utf-8")
    return {name.split(".")[-1]: options for name, options in ENTRY.findall(text)}


def list_functions(name: str, options: str) -> Iterator[Any]:
    """The documented functions of an entry: itself, or the documented members of a class."""
    documented = getattr(tagsight, name)
    if not inspect.isclass(documented):
        yield documented
    elif members := re.search(r":members:(.*)", options):
        named = [one.strip() for one in members[1].split(",") if one.strip()]
        for member in named or [one for one in vars(documented) if not one.startswith("_")]:
            found = inspect.getattr_static(documented, member)
            found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
            if inspect.isfunction(found):
                yield found


def test_every_public_name_is_in_the_reference(entries: dict[str, str]) -> None:
    assert set(tagsight.__all__) <= set(entries)


def test_every_returned_type_is_in_the_reference(entries: dict[str, str]) -> None:
    functions = [one for name in tagsight.__all__ for one in list_functions(name, entries[name])]
    returned = {one.__qualname__: inspect.formatannotation(one.__annotations__.get("return")) for one in functions}
    assert "Index" in returned["Model.index"]
    assert len(returned) > 25
    for function, annotation in returned.items():
        types = set(re.findall(r"\b[A-Z]\w+", annotation))
        assert types - ELSEWHERE <= set(entries), f"{function} returns {annotation}"
