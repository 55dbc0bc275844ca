"""Parts on disk: written whole, read back for the next build, merged while small, removed when no one looks."""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tagsight.index.manifest import REPAIR, Manifest, Part, model_file, photos_file, regions_file
from tagsight.index.part_check import DamagedPartError, check_part, measure_file
from tagsight.index.schema import IndexedPhoto, tabulate_photos, tabulate_regions
from tagsight.runtime.interrupts import check_stop
from tagsight.storage.files import is_partial, replace_file

FULL = 131_072  # photos of a part that is not merged any more; every file costs a query a millisecond
GROWTH = 4  # a part is merged with smaller ones, if together they have at least 1 / GROWTH of its photos
REGIONS_ROW_GROUP = 4096  # photos; queries read columns of few factors
PHOTOS_ROW_GROUP = 512  # photos; queries read few photos
_WRITTEN = re.compile(r"(photos|regions)-[0-9a-f]{16}\.parquet|[0-9a-f]{64}\.model")  # names of files of an index
FILES = ((photos_file, PHOTOS_ROW_GROUP), (regions_file, REGIONS_ROW_GROUP))


class Known(NamedTuple):
    """A photo that is in the index already."""

    photo: int
    part: str
    n_bytes: int
    mtime_ns: int


def write_part(folder: Path, photos: Sequence[IndexedPhoto]) -> Part:
    """Put photos on disk; they count once a manifest names the part."""
    part = Part(secrets.token_hex(8), len(photos))
    for (file, row_group), table in zip(FILES, (tabulate_photos(photos), tabulate_regions(photos)), strict=True):
        _write(file(folder, part), [table], row_group)
    return record_files(folder, part)


def record_files(folder: Path, part: Part) -> Part:
    """The part with size and hash of its files as they are now."""
    return part._replace(
        photos=measure_file(photos_file(folder, part)), regions=measure_file(regions_file(folder, part))
    )


def keep_intact(folder: Path, manifest: Manifest) -> tuple[Manifest, tuple[str, ...]]:
    """The manifest with those parts alone whose files are as they were written, and what is wrong with the others.

    Every file is hashed: a build reads them all, or most, in any case. A part that has no checksum yet gets one.
    """
    parts: list[Part] = []
    faults: list[str] = []
    for part in manifest.parts:
        check_stop()
        try:
            check_part(folder, part, len(manifest.factor_names), content=True)
        except DamagedPartError as problem:
            faults.append(f"{str(problem).removesuffix(f'; {REPAIR}')}, so {part.n_live} photos are annotated again")
        else:
            parts.append(part if part.photos and part.regions else record_files(folder, part))
    return manifest._replace(parts=tuple(parts)), tuple(faults)


def list_known(folder: Path, manifest: Manifest) -> dict[str, Known]:
    """Every photo that counts, by path; the parts must be intact."""
    known: dict[str, Known] = {}
    for part in manifest.parts:
        columns = ["photo", "path", "bytes", "mtime_ns"]
        table = _drop_removed(pq.read_table(photos_file(folder, part), columns=columns), part)
        for photo, path, n_bytes, mtime_ns in zip(*(table[name].to_pylist() for name in columns), strict=True):
            known[path] = Known(photo, part.name, n_bytes, mtime_ns)
    return known


def tidy_parts(folder: Path, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Merge small parts of like size, and write those anew of which most photos went.

    Of the parts that stay below FULL each has more than GROWTH times the photos of the next smaller, so an index has
    at most I / FULL + log_GROWTH FULL + 1 parts, and a photo is copied about as often as that logarithm says.
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
    gone = hollow.union(*merged)
    return (*(part for part in parts if part not in gone), *(_merge(folder, group) for group in merged))


def remove_unused(folder: Path, *manifests: Manifest) -> None:
    """Remove parts and models that none of the manifests names, and no other file; only under the builder's lock."""
    named = {file(folder, part) for manifest in manifests for part in manifest.parts for file, _ in FILES}
    named |= {model_file(folder, manifest) for manifest in manifests}
    for path in [*(folder / "parts").glob("*"), *(folder / "models").glob("*")]:
        if path not in named and (_WRITTEN.fullmatch(path.name) or is_partial(path.name)):
            path.unlink(missing_ok=True)


def _merge(folder: Path, parts: Sequence[Part]) -> Part:
    """One part with the photos of several, in the order of their numbers as far as the parts are."""
    ordered = sorted(parts, key=lambda part: _first_photo(folder, part))
    merged = Part(secrets.token_hex(8), sum(part.n_live for part in parts))
    for file, row_group in FILES:
        _write(file(folder, merged), _stream(folder, ordered, file), row_group)
    return record_files(folder, merged)


def _first_photo(folder: Path, part: Part) -> int:
    return pq.ParquetFile(photos_file(folder, part)).read_row_group(0, columns=["photo"])["photo"][0].as_py()


def _stream(folder: Path, parts: Sequence[Part], file: Callable[[Path, Part], Path]) -> Iterator[pa.Table]:
    for part in parts:
        with pq.ParquetFile(file(folder, part)) as source:
            for number in range(source.num_row_groups):
                yield _drop_removed(source.read_row_group(number), part)


def _drop_removed(table: pa.Table, part: Part) -> pa.Table:
    if not part.removed:
        return table
    gone = pc.is_in(table["photo"], value_set=pa.array(part.removed, pa.uint32()))
    return table.filter(pc.invert(gone))


def _write(path: Path, tables: Iterable[pa.Table], row_group: int) -> None:
    """Uncompressed: levels of probabilities hardly shrink, label maps are compressed already."""
    following = iter(tables)
    held = next(following)
    options = {"compression": "none", "use_dictionary": False, "write_statistics": ["photo"]}
    with replace_file(path) as file, pq.ParquetWriter(file, held.schema, **options) as writer:
        for table in following:
            held = pa.concat_tables([held, table])
            whole = len(held) - len(held) % row_group
            if whole:
                writer.write_table(held.slice(0, whole), row_group_size=row_group)
                held = held.slice(whole)
        if len(held):
            writer.write_table(held, row_group_size=row_group)
