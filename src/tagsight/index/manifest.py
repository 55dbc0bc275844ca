"""The manifest: one small JSON that says which immutable parts make up the index, replaced atomically.

A reader reads it once and then sees that generation, whatever is written meanwhile. `pending.json` has the same form:
parts that an unfinished build has completed, for the next build to go on from; readers do not look at it.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.errors import InputError
from tagsight.files import write_atomically

SCHEMA = 2
KIND = "tagsight index"
CURRENT, PENDING = "manifest.json", "pending.json"


class Part(NamedTuple):
    """Photos annotated together; the files never change, photos that went are listed here."""

    name: str
    n_photos: int
    removed: tuple[int, ...] = ()  # numbers of photos that no longer count, ascending

    @property
    def n_live(self) -> int:
        """Photos that count."""
        return self.n_photos - len(self.removed)


class Manifest(NamedTuple):
    """One generation of an index."""

    generation: int
    root: str  # folder that the photos' paths start from
    model: str  # sha256 of the model file
    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    n_free: int
    next_photo: int  # the number the next photo gets
    parts: tuple[Part, ...]

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the factors in column order, as a model names them."""
        return (*self.objects, *self.attributes, *(f"free-{k + 1}" for k in range(self.n_free)))

    @property
    def n_photos(self) -> int:
        """Photos that count."""
        return sum(part.n_live for part in self.parts)


def photos_file(folder: Path, part: Part) -> Path:
    """Parquet with what is known of each photo besides probabilities."""
    return folder / "parts" / f"photos-{part.name}.parquet"


def regions_file(folder: Path, part: Part) -> Path:
    """Parquet with the probabilities."""
    return folder / "parts" / f"regions-{part.name}.parquet"


def model_file(folder: Path, manifest: Manifest) -> Path:
    """The index's copy of the model it was made with."""
    return folder / "models" / f"{manifest.model}.model"


def write_manifest(folder: Path, manifest: Manifest, name: str = CURRENT) -> None:
    """Replace the manifest."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        **manifest._asdict(),
        "parts": [{"name": part.name, "photos": part.n_photos, "removed": part.removed} for part in manifest.parts],
    }
    write_atomically(folder / name, json.dumps(content, ensure_ascii=False, indent=1).encode())


def read_manifest(folder: Path, name: str = CURRENT) -> Manifest:
    """The generation that counts now."""
    try:
        content = json.loads((folder / name).read_bytes())
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise InputError(f"there is no index in {str(folder)!r}; make one with 'tagsight index'") from problem
    except (OSError, ValueError) as problem:
        raise InputError(f"{str(folder / name)!r} cannot be read as a manifest: {problem}; index again") from problem
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"{str(folder / name)!r} is not the manifest of a tagsight index")
    if content.get("schema") != SCHEMA:
        raise InputError(
            f"the index {str(folder)!r} has schema {content.get('schema')!r} and this tagsight reads {SCHEMA}; "
            "index again into another folder"
        )
    return _parse(content, folder / name)


def _parse(content: dict[str, Any], path: Path) -> Manifest:
    try:
        return Manifest(
            int(content["generation"]),
            str(content["root"]),
            str(content["model"]),
            tuple(map(str, content["objects"])),
            tuple(map(str, content["attributes"])),
            int(content["n_free"]),
            int(content["next_photo"]),
            tuple(
                Part(str(part["name"]), int(part["photos"]), tuple(map(int, part["removed"])))
                for part in content["parts"]
            ),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise InputError(f"{str(path)!r} is damaged ({problem!r}); index again into another folder") from problem
