"""The parts of an index: writing, checking, merging of small parts, and removal of unused ones.

An index may come from someone else, so its checksums prove nothing about its content. Where checksums are compared, the
values are checked too: the numbers of photos, the offsets of arrays, sizes, paths and label maps.
"""

import re
import secrets
from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from tagsight.index.manifest import REPAIR, Manifest, Part, StoredFile, model_file, part_file
from tagsight.index.part_file import (
    PNG,
    DamagedPartError,
    IndexedPhoto,
    OpenPart,
    PartFile,
    merge_files,
    write_photos,
)
from tagsight.runtime.interrupts import check_stop
from tagsight.storage.files import is_partial
from tagsight.types import Ints

FULL = 131_072  # photos from which a part is not merged any more
GROWTH = 4  # a part is merged with smaller ones if these have at least 1 / GROWTH of its photos
MOST_HASHED = 256 * 2**20  # bytes of an index whose files are hashed when it is opened; a build hashes all files
_WRITTEN = re.compile(  # names of files of an index; the second form is of an older tagsight
    r"[0-9a-f]{16}\.safetensors|(photos|regions)-[0-9a-f]{16}\.parquet|[0-9a-f]{64}\.model"
)


class KnownPhoto(NamedTuple):
    """A photo that is in the index, with size and time of its file when it was indexed."""

    photo: int
    part: str
    n_bytes: int
    mtime_ns: int


def write_part(folder: Path, photos: Sequence[IndexedPhoto]) -> Part:
    """Write a part; its photos are in the index once a manifest lists it."""
    name = secrets.token_hex(8)
    write_photos(part_file(folder, name), photos)
    return Part(name, len(photos), measure_file(part_file(folder, name)))


def measure_file(path: Path) -> StoredFile:
    """Size and hash of a file."""
    return StoredFile(path.stat().st_size, hash_file(path))


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def check_part(folder: Path, part: Part, n_factors: int, *, content: bool = False) -> PartFile:
    """The file of a part; raises DamagedPartError unless it has the recorded size and numbers of photos and factors.

    Only the header and the offsets of photos are read. With `content` the file is hashed and its values are checked.
    """
    path = part_file(folder, part.name)
    if not path.is_file():
        raise DamagedPartError(path, "it is missing")
    if (n_bytes := path.stat().st_size) != part.file.n_bytes:
        raise DamagedPartError(path, f"it has {n_bytes} bytes and should have {part.file.n_bytes}")
    if content and hash_file(path) != part.file.sha256:
        raise DamagedPartError(path, "its checksum does not match")
    file = PartFile(path)
    if file.counts.photos != part.n_photos:
        raise DamagedPartError(path, f"it has {file.counts.photos} photos and should have {part.n_photos}")
    if file.counts.factors != n_factors:
        raise DamagedPartError(path, f"it has {file.counts.factors} factors and should have {n_factors}")
    if content:
        with file.open() as opened:
            fault = _find_fault(file, opened)
        if fault:
            raise DamagedPartError(path, fault)
    return file


def check_parts(folder: Path, manifest: Manifest) -> list[PartFile]:
    """The files of all parts; their content is checked too, unless hashing them would take long."""
    content = sum(part.file.n_bytes for part in manifest.parts) <= MOST_HASHED
    return [check_part(folder, part, len(manifest.factor_names), content=content) for part in manifest.parts]


def _find_fault(file: PartFile, part: OpenPart) -> str | None:
    """What is wrong with the values of a part's file; None if nothing is."""
    if len(np.unique(file.photos)) != len(file.photos):
        return "two photos have the same number"
    if (part.read("size") < 1).any():
        return "a photo has no pixels"
    for starts, total in (
        ("path_starts", file.counts.path_bytes),
        ("label_map_starts", file.counts.label_map_bytes),
    ):
        places = part.read(starts)
        if places[0] != 0 or places[-1] != total or (np.diff(places) < 1).any():
            return f"its tensor {starts!r} does not fit"
    rows = np.arange(len(file.photos))
    try:
        paths = [path.decode() for path in part.read_runs("path", "path_starts", rows)]
    except UnicodeDecodeError:
        return "a path is not valid Unicode text"
    if not all(map(_is_inside, paths)):
        return "a path leads out of the collection"
    places = part.read("label_map_starts")
    heads = part.read_items("label_map", places[:-1], np.minimum(places[:-1] + len(PNG), places[1:]))
    if heads.tobytes() != PNG * len(rows):
        return "a label map is not a PNG image"
    return None


def _is_inside(path: str) -> bool:
    """Whether a path stays in the folder that it is relative to."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path


def keep_intact(folder: Path, manifest: Manifest) -> tuple[Manifest, tuple[str, ...]]:
    """The manifest with the intact parts only, and one message for each other part."""
    parts: list[Part] = []
    faults: list[str] = []
    for part in manifest.parts:
        check_stop()
        try:
            check_part(folder, part, len(manifest.factor_names), content=True)
        except DamagedPartError as problem:
            faults.append(f"{str(problem).removesuffix(f'; {REPAIR}')}, so {part.n_live} photos are annotated again")
        else:
            parts.append(part)
    return manifest._replace(parts=tuple(parts)), tuple(faults)


def list_known(folder: Path, manifest: Manifest) -> dict[str, KnownPhoto]:
    """Every photo of the index by path; the parts must be intact."""
    known: dict[str, KnownPhoto] = {}
    for part in manifest.parts:
        file = PartFile(part_file(folder, part.name))
        rows = list_live_rows(file, part)
        with file.open() as opened:
            paths = opened.read_runs("path", "path_starts", rows)
            stats = opened.read_rows("file_stat", rows).tolist()
        for photo, path, (n_bytes, mtime_ns) in zip(file.photos[rows].tolist(), paths, stats, strict=True):
            known[path.decode()] = KnownPhoto(photo, part.name, n_bytes, mtime_ns)
    return known


def list_live_rows(file: PartFile, part: Part) -> Ints:
    """The rows of the photos of a part that are in the index, ascending."""
    return np.flatnonzero(~np.isin(file.photos, part.removed))


def tidy_parts(folder: Path, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Merge small parts of similar size, and rewrite parts of which most photos were removed.

    Afterwards each part with fewer than FULL photos has more than GROWTH times the photos of the next smaller one. So
    an index of I photos has at most I / FULL + log_GROWTH FULL + 1 parts, and a photo is copied about log_GROWTH FULL
    times.
    """
    hollow = {part for part in parts if 2 * part.n_live < part.n_photos}
    groups: list[list[Part]] = [[]]
    for part in sorted((part for part in parts if 0 < part.n_live < FULL), key=lambda part: part.n_live):
        total = sum(one.n_live for one in groups[-1])
        if total >= FULL or (groups[-1] and part.n_live > GROWTH * total):
            groups.append([])
        groups[-1].append(part)
    groups += [[part] for part in hollow if part.n_live >= FULL]
    merged = [group for group in groups if len(group) > 1 or hollow.intersection(group)]
    replaced = hollow.union(*merged)
    return (*(part for part in parts if part not in replaced), *(_merge(folder, group) for group in merged))


def _merge(folder: Path, parts: Sequence[Part]) -> Part:
    """One part with the photos of several; the parts are ordered by their first photo."""
    files = [(PartFile(part_file(folder, part.name)), part) for part in parts]
    files.sort(key=lambda one: int(one[0].photos[0]))
    name = secrets.token_hex(8)
    merge_files(part_file(folder, name), [(file, list_live_rows(file, part)) for file, part in files])
    return Part(name, sum(part.n_live for part in parts), measure_file(part_file(folder, name)))


def remove_unused(folder: Path, *manifests: Manifest) -> None:
    """Remove the parts and models that no manifest lists, but no other files; the caller holds the build lock."""
    named = {part_file(folder, part.name) for manifest in manifests for part in manifest.parts}
    named |= {model_file(folder, manifest) for manifest in manifests}
    for path in [*(folder / "parts").glob("*"), *(folder / "models").glob("*")]:
        if path not in named and (_WRITTEN.fullmatch(path.name) or is_partial(path.name)):
            path.unlink(missing_ok=True)
