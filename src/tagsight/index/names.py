"""Names that users give to discovered factors, stored in a JSON file of the index under a lock."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.index.errors import LostIndexError
from tagsight.index.manifest import Manifest, read_manifest
from tagsight.index.query import make_words
from tagsight.storage.files import write_atomically
from tagsight.storage.locks import hold_lock

FILE = "names.json"
LONGEST = 60  # characters


def read_names(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The names for the model of the index, such as {"free-7": "striped"}."""
    return _read_all(folder).get(manifest.model, {})


def name_factor(folder: Path, factor: str, name: str) -> str:
    """Name a free factor ("free-7"), or rename it; returns the name as it is used in queries.

    The name is normalised as tags are, and must not be a word of the index. It is on disk when this returns; the model
    file does not change. Names belong to one model: an index that is built with another model has none at first.
    """
    with _change_names(folder) as (manifest, names):
        wanted = _find_factor(factor, manifest)
        others = {free_factor: word for free_factor, word in names.items() if free_factor != wanted}
        names[wanted] = _check(name, manifest, others)
        return names[wanted]


def remove_name(folder: Path, factor: str) -> str:
    """Remove the name of a free factor ("free-7"); returns the name that it had."""
    with _change_names(folder) as (manifest, names):
        wanted = _find_factor(factor, manifest)
        if wanted not in names:
            raise InputError(f"the factor {wanted!r} has no name; 'tagsight name' gives it one")
        return names.pop(wanted)


@contextmanager
def _change_names(folder: Path) -> Generator[tuple[Manifest, dict[str, str]]]:
    """The manifest and the names of its model; the names are stored if the block ends without an exception."""
    read_manifest(folder)  # raises an error for a folder without an index, before the lock file is created
    with hold_lock(folder / "names.lock", wait=True, remove=True):
        manifest = read_manifest(folder)
        everything = _read_all(folder)
        yield manifest, everything.setdefault(manifest.model, {})
        content = {"names": everything, "sha256": _digest(everything)}
        write_atomically(folder / FILE, json.dumps(content, ensure_ascii=False, indent=1).encode())


def _find_factor(factor: str, manifest: Manifest) -> str:
    """The name of a free factor as in the manifest."""
    free = manifest.factor_names[len(manifest.objects) + len(manifest.attributes) :]
    wanted = normalise_tag(factor)
    if wanted not in free:
        known = f"free-1 to free-{len(free)}" if free else "none"
        raise InputError(f"there is no free factor {factor!r}; the index has {known}")
    return wanted


def _check(name: str, manifest: Manifest, others: dict[str, str]) -> str:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"the name {name!r} is not valid Unicode text") from error
    word = normalise_tag(name)
    if not word:
        raise InputError("the name of a factor must not be empty")
    if len(word) > LONGEST:
        raise InputError(f"the name has {len(word)} characters; at most {LONGEST} are kept")
    if word.startswith("-") or "," in word or '"' in word:
        raise InputError(f"the name {word!r} has a minus in front, a comma or a quote, which mean something in queries")
    if word in make_words(manifest, others).factors:
        raise InputError(f"{word!r} is a word of the index already; choose another name")
    return word


def _digest(everything: Any) -> str:
    return sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def _read_all(folder: Path) -> dict[str, dict[str, str]]:
    path = folder / FILE
    try:
        content: Any = json.loads(path.read_bytes())
        everything = content.get("names", content)  # indexes of schema 1 have no checksum
        if everything is not content and content.get("sha256") != _digest(everything):
            raise ValueError("its checksum does not match")
        return {str(model): {str(k): str(v) for k, v in names.items()} for model, names in everything.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as problem:
        raise LostIndexError(
            f"{str(path)!r} cannot be read ({problem}); restore it, or delete it with all names"
        ) from problem
