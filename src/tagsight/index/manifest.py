"""The manifest: a small JSON file that lists the immutable parts of an index. It is replaced atomically.

A reader reads it once and then uses that generation, even if a new one is written. `pending.json` has the same form: it
lists the parts that an unfinished build has completed, from which the next build continues. Readers ignore it.

The manifest has the size and SHA-256 of the file of each part, and a SHA-256 of the rest of the manifest.
"""

import json
import re
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.jsonvalues import is_object
from tagsight.errors import InputError
from tagsight.storage.files import write_atomically

SCHEMA = 4
KIND = "tagsight index"
MOST_FREE = 100_000  # discovered factors
CURRENT, PENDING = "manifest.json", "pending.json"
REPAIR = "run 'tagsight index' again with the same model, photos and index to repair it"


class DamagedManifestError(InputError):
    """A manifest does not match its checksum; a build starts from an empty index."""


class OutdatedIndexError(InputError):
    """The index has a schema that is not read any more; a build starts from an empty index."""


class StoredFile(NamedTuple):
    """The size and hash of a file when it was written."""

    n_bytes: int
    sha256: str


class Part(NamedTuple):
    """Photos that are stored in one file, which never changes; photos removed since are listed here."""

    name: str
    n_photos: int
    file: StoredFile
    removed: tuple[int, ...] = ()  # numbers of photos that were removed from the index, ascending

    @property
    def n_live(self) -> int:
        """The number of photos that are in the index."""
        return self.n_photos - len(self.removed)


class Manifest(NamedTuple):
    """One generation of an index."""

    generation: int
    root: str  # folder that the paths of photos are relative to
    model: str  # SHA-256 of the model file
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
        """The number of photos in the index."""
        return sum(part.n_live for part in self.parts)


def part_file(folder: Path, name: str) -> Path:
    """The file of the part with a name."""
    return folder / "parts" / f"{name}.safetensors"


def model_file(folder: Path, manifest: Manifest) -> Path:
    """The index's copy of the model that it was built with."""
    return folder / "models" / f"{manifest.model}.model"


def write_manifest(folder: Path, manifest: Manifest, name: str = CURRENT) -> None:
    """Replace the manifest."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        **manifest._asdict(),
        "parts": _list_parts(manifest),
    }
    signed = {**content, "sha256": _digest(content)}
    write_atomically(folder / name, json.dumps(signed, indent=1).encode())


def _list_parts(manifest: Manifest) -> list[dict[str, Any]]:
    return [
        {
            "name": part.name,
            "photos": part.n_photos,
            "removed": part.removed,
            "file": part.file,
        }
        for part in manifest.parts
    ]


def read_manifest(folder: Path, name: str = CURRENT) -> Manifest:
    """The current generation of the index in a folder, or the manifest `name` in it.

    Raises DamagedManifestError if the checksum does not match, OutdatedIndexError for an index of an older tagsight,
    and InputError if there is no index, or one of a newer tagsight.
    """
    path = folder / name
    content = _load_json(path)
    is_record = is_object(content)
    digest = content.pop("sha256", None) if is_record else None
    if (digest is not None and digest != _digest(content)) or (not is_record and (folder / "parts").is_dir()):
        raise DamagedManifestError(f"{str(path)!r} is damaged: its checksum does not match; {REPAIR}")
    if not is_record or content.get("kind") != KIND:
        raise InputError(
            f"{str(path)!r} is not the manifest of a tagsight index; choose another folder, or remove that file"
        )
    _check_schema(folder, content.get("schema"))
    if digest is None:
        raise DamagedManifestError(f"{str(path)!r} is damaged: it has no checksum; {REPAIR}")
    return _parse(content, path)


def _load_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise InputError(f"there is no index in {str(path.parent)!r}; make one with 'tagsight index'") from problem
    except OSError as problem:
        raise InputError(f"cannot read {str(path)!r}: {problem.strerror or problem}") from problem
    except (ValueError, RecursionError) as problem:
        if not (path.parent / "parts").is_dir():
            raise InputError(
                f"{str(path)!r} is not the manifest of a tagsight index; choose another folder"
            ) from problem
        raise DamagedManifestError(f"{str(path)!r} is damaged ({problem}); {REPAIR}") from problem


def _check_schema(folder: Path, schema: Any) -> None:
    if schema == SCHEMA:
        return
    found = f"the index {str(folder)!r} has schema {schema!r} and this tagsight reads {SCHEMA}"
    if type(schema) is int and schema > SCHEMA:
        raise InputError(f"{found}; upgrade tagsight, or index again into another folder")
    raise OutdatedIndexError(f"{found}; build the index again with 'tagsight index'")


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _parse(content: dict[str, Any], path: Path) -> Manifest:
    try:
        objects, attributes = (tuple(map(_check_text, content[kind])) for kind in ("objects", "attributes"))
        return Manifest(
            _check_whole(content["generation"]),
            _check_text(content["root"]),
            _check_name(content["model"], 64),
            objects,
            attributes,
            _check_whole(content["n_free"], most=MOST_FREE),
            _check_whole(content["next_photo"]),
            tuple(map(_parse_part, content["parts"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise DamagedManifestError(f"{str(path)!r} is damaged ({problem!r}); {REPAIR}") from problem


def _parse_part(part: dict[str, Any]) -> Part:
    removed = tuple(map(_check_whole, part["removed"]))
    n_photos = _check_whole(part["photos"])
    if len(removed) > n_photos or any(a >= b for a, b in pairwise(removed)):
        raise ValueError(f"the part {part['name']!r} lists removed photos that it cannot have")
    n_bytes, digest = part["file"]
    file = StoredFile(_check_whole(n_bytes), _check_name(digest, 64))
    return Part(_check_name(part["name"], 16), n_photos, file, removed)


def _check_whole(value: Any, most: int = 2**53) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{value!r} is not a whole number between 0 and {most}")
    return value


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _check_name(value: Any, length: int) -> str:
    """Hexadecimal digits, of which names of files are made."""
    if not re.fullmatch(f"[0-9a-f]{{{length}}}", _check_text(value)):
        raise ValueError(f"{value!r} is not {length} hexadecimal digits")
    return value
