"""Parts on disk: written whole, read back for the next build, merged when they are small, removed when no one looks."""

import secrets
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tagsight.files import write_atomically
from tagsight.index.manifest import Manifest, Part, labels_file, photos_file
from tagsight.index.schema import IndexedPhoto, tabulate_labels, tabulate_photos

FULL = 4096  # photos of a part, at most
ROW_GROUP = 1024  # photos; a query reads a column of a row group or passes over it
LABELS_ROW_GROUP = 32  # photos; label maps are read one at a time


class Known(NamedTuple):
    """A photo that is in the index already."""

    photo: int
    part: str
    n_bytes: int
    mtime_ns: int


def write_part(folder: Path, photos: Sequence[IndexedPhoto]) -> Part:
    """Put photos on disk; they count once a manifest names the part."""
    return _write_tables(folder, tabulate_photos(photos), tabulate_labels(photos))


def list_known(folder: Path, manifest: Manifest) -> dict[str, Known]:
    """Every photo that counts, by path."""
    known: dict[str, Known] = {}
    for part in manifest.parts:
        columns = ["photo", "path", "bytes", "mtime_ns"]
        table = _drop_removed(pq.read_table(photos_file(folder, part), columns=columns), part)
        for photo, path, n_bytes, mtime_ns in zip(*(table[name].to_pylist() for name in columns), strict=True):
            known[path] = Known(photo, part.name, n_bytes, mtime_ns)
    return known


def merge_small(folder: Path, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Merge the parts that are less than half full into full ones, without the photos that went.

    At most I / (FULL / 2) + 1 parts remain however often an index of I photos is updated.
    """
    small = [part for part in parts if part.n_live < FULL // 2]
    if len(small) < 2 and not any(part.removed for part in small):
        return tuple(parts)
    kept = [part for part in parts if part not in small]
    for group in _fill([part for part in small if part.n_live]):
        photos = [_drop_removed(pq.read_table(photos_file(folder, part)), part) for part in group]
        labels = [_drop_removed(pq.read_table(labels_file(folder, part)), part) for part in group]
        kept.append(_write_tables(folder, pa.concat_tables(photos), pa.concat_tables(labels)))
    return tuple(kept)


def remove_unused(folder: Path, *manifests: Manifest) -> None:
    """Remove part files that none of the manifests names; only under the builder's lock."""
    named = {
        file(folder, part) for manifest in manifests for part in manifest.parts for file in (photos_file, labels_file)
    }
    for path in (folder / "parts").glob("*"):
        if path not in named:
            path.unlink(missing_ok=True)


def _fill(parts: Sequence[Part]) -> Iterator[list[Part]]:
    group: list[Part] = []
    for part in parts:
        if group and sum(one.n_live for one in group) + part.n_live > FULL:
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def _drop_removed(table: pa.Table, part: Part) -> pa.Table:
    if not part.removed:
        return table
    gone = pc.is_in(table["photo"], value_set=pa.array(part.removed, pa.uint32()))
    return table.filter(pc.invert(gone))


def _write_tables(folder: Path, photos: pa.Table, labels: pa.Table) -> Part:
    part = Part(secrets.token_hex(8), len(photos))
    write_atomically(photos_file(folder, part), _encode(photos, ROW_GROUP))
    write_atomically(labels_file(folder, part), _encode(labels, LABELS_ROW_GROUP))
    return part


def _encode(table: pa.Table, row_group: int) -> bytes:
    """Uncompressed: a query then reads little more than it uses, and label maps are compressed already."""
    stream = BytesIO()
    pq.write_table(
        table, stream, row_group_size=row_group, compression="none", use_dictionary=False, write_statistics=["photo"]
    )
    return stream.getvalue()
