"""Whether the files of a part are what was written, before anything in them is decoded.

Parts are written uncompressed and without dictionaries, so a column never takes more memory than its file has bytes.
A file of which the footer says otherwise, or that has other columns or rows than the manifest says, is refused.

An index may come from someone else, whose checksums say nothing about its content. So where checksums are compared, the
rows are checked, too: the numbers of photos, the lengths of arrays, sizes and paths.
"""

from hashlib import file_digest
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tagsight.errors import InputError
from tagsight.index.manifest import REPAIR, Manifest, Part, StoredFile, photos_file, regions_file
from tagsight.index.schema import COORDINATE, PHOTOS_SCHEMA, list_regions_columns, name_levels
from tagsight.predict.levels import LEVEL
from tagsight.types import Array

ENCODINGS = {"PLAIN", "RLE"}  # RLE is that of levels, which tell what is null
LEAST = 4  # bytes of a value
PNG = b"\x89PNG\r\n\x1a\n"
MOST_HASHED = 256 * 2**20  # bytes; a build hashes the files of larger indexes, too


class DamagedPartError(InputError):
    """A part lacks a file or has a damaged one; a build drops it and annotates its photos again."""


def check_part(folder: Path, part: Part, n_factors: int, *, content: bool = False) -> None:
    """Raise DamagedPartError unless both files have the size, rows and columns that they should have.

    Only sizes and footers are read, some milliseconds per part; with `content` the files are hashed, and their rows
    checked as well.
    """
    for path, stored, columns in (
        (photos_file(folder, part), part.photos, PHOTOS_SCHEMA),
        (regions_file(folder, part), part.regions, list_regions_columns(n_factors)),
    ):
        fault = _check_size(path, stored) or _check_footer(path, columns, part.n_photos)
        if not fault and content and stored and hash_file(path) != stored.sha256:
            fault = "its checksum does not match"
        if fault:
            raise _report_damage(folder, path, fault)
    if content and (fault := _check_rows(folder, part, n_factors)):
        raise _report_damage(folder, photos_file(folder, part), fault)


def _report_damage(folder: Path, path: Path, fault: str) -> DamagedPartError:
    return DamagedPartError(f"the index {str(folder)!r} has a damaged file {path.name!r}: {fault}; {REPAIR}")


def check_parts(folder: Path, manifest: Manifest) -> None:
    """Check every part of an index; the content too, unless there is so much of it that opening would take long."""
    sizes = [stored.n_bytes for part in manifest.parts for stored in (part.photos, part.regions) if stored]
    for part in manifest.parts:
        check_part(folder, part, len(manifest.factor_names), content=sum(sizes) <= MOST_HASHED)


def measure_file(path: Path) -> StoredFile:
    """Size and hash of a file."""
    return StoredFile(path.stat().st_size, hash_file(path))


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _check_size(path: Path, stored: StoredFile | None) -> str | None:
    if not path.is_file():
        return "it is missing"
    if stored and path.stat().st_size != stored.n_bytes:
        return f"it has {path.stat().st_size} bytes and should have {stored.n_bytes}"
    return None


def _check_footer(path: Path, columns: pa.Schema, n_rows: int) -> str | None:
    try:
        footer = pq.read_metadata(path)
        found = footer.schema.to_arrow_schema()
    except (OSError, pa.ArrowException):
        return "it is no Parquet file, or is cut short"
    if not found.equals(columns):
        return "it has other columns"
    if footer.num_rows != n_rows:
        return f"it has {footer.num_rows} photos and should have {n_rows}"
    return _check_chunks(footer, path.stat().st_size)


def _check_chunks(footer: pq.FileMetaData, n_bytes: int) -> str | None:
    total = n_rows = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        n_rows += group.num_rows
        for column in range(footer.num_columns):
            chunk = group.column(column)
            if chunk.compression != "UNCOMPRESSED" or not ENCODINGS.issuperset(chunk.encodings):
                return f"its column {chunk.path_in_schema!r} is compressed"
            if chunk.num_values != group.num_rows or chunk.total_compressed_size < LEAST * chunk.num_values:
                return f"its column {chunk.path_in_schema!r} has another number of values than it has photos"
            total += max(chunk.total_uncompressed_size, chunk.total_compressed_size)
    if n_rows != footer.num_rows:
        return f"its row groups have {n_rows} photos and should have {footer.num_rows}"
    return f"its columns are said to have {total} bytes and the file has {n_bytes}" if total > n_bytes else None


def _check_rows(folder: Path, part: Part, n_factors: int) -> str | None:
    """What is wrong with the rows of a part, both files together."""
    photos = pq.read_table(photos_file(folder, part))
    regions = pq.ParquetFile(regions_file(folder, part))
    if any(column.null_count for column in photos.columns):
        return "a value is missing"
    numbers = photos["photo"].to_numpy()
    if len(np.unique(numbers)) != len(numbers):
        return "two photos have the same number"
    if min(pc.min(photos["width"]).as_py(), pc.min(photos["height"]).as_py()) < 1:
        return "a photo has no pixels"
    if not all(map(_stays_inside, photos["path"].to_pylist())):
        return "a path leads out of the collection"
    boxes = _measure(photos["boxes"])
    n_regions = boxes // (4 * COORDINATE.itemsize)
    if (boxes != n_regions * 4 * COORDINATE.itemsize).any() or (n_regions < 1).any():
        return "the boxes of a photo are cut short"
    if (_measure(photos["named"]) != 2 * LEVEL.itemsize * n_regions).any():
        return "a photo has other numbers of boxes and of labels"
    if any(not label.startswith(PNG) for label in photos["labels"].to_pylist()):
        return "a label map is no PNG"
    if not np.array_equal(regions.read(["photo"])["photo"].to_numpy(), numbers):
        return "its photos are not those of the other file"
    for k in range(n_factors):
        if (_measure(regions.read([name_levels(k)])[name_levels(k)]) != LEVEL.itemsize * n_regions).any():
            return "a photo has other numbers of boxes and of probabilities"
    return None


def _measure(column: pa.ChunkedArray) -> Array:
    """Bytes of each value."""
    return pc.binary_length(column).to_numpy()


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path
