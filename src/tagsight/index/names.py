"""Names that people give to discovered factors: kept in the index, one JSON replaced atomically under a lock."""

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
    """{"free-7": "striped"} for the model the index is made with."""
    return _read_all(folder).get(manifest.model, {})


def name_factor(folder: Path, factor: str, name: str) -> str:
    """Name a free factor ("free-7"), or rename it; returns the name as it is now searched for.

    The name is spelt as tags are, must not be a word already, and is on disk when this returns. The model file
    stays as it is. Names belong to one model: an index made anew with another model starts without them.
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
    """The manifest, and the names of its model, which are stored when the block ends without an error."""
    read_manifest(folder)  # a folder without an index is left as it is
    with hold_lock(folder / "names.lock", wait=True, remove=True):
        manifest = read_manifest(folder)
        everything = _read_all(folder)
        yield manifest, everything.setdefault(manifest.model, {})
        content = {"names": everything, "sha256": _digest(everything)}
        write_atomically(folder / FILE, json.dumps(content, ensure_ascii=False, indent=1).encode())


def _find_factor(factor: str, manifest: Manifest) -> str:
    """A free factor as the manifest spells it."""
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
        everything = content.get("names", content)  # until schema 2 of the index there was no checksum around them
        if everything is not content and content.get("sha256") != _digest(everything):
            raise ValueError("its checksum does not match")
        return {str(model): {str(k): str(v) for k, v in names.items()} for model, names in everything.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as problem:
        raise LostIndexError(
            f"{str(path)!r} cannot be read ({problem}); restore it, or delete it with all names"
        ) from problem
