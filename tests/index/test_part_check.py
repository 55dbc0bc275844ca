"""Files of a part are checked before anything in them is decoded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tagsight.errors import InputError
from tagsight.index import open_index
from tagsight.index.manifest import (
    Manifest,
    photos_file,
    read_manifest,
    regions_file,
    write_manifest,
)
from tagsight.index.part_check import DamagedPartError, check_part
from tagsight.index.parts import keep_intact, record_files
from tests.flips import flip_bits

from .made import NO_PARTS, K, draw_posteriors, put_posteriors

PLAIN: dict[str, Any] = {"compression": "none", "use_dictionary": False}


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return put_posteriors(tmp_path, draw_posteriors(0, 7))


def check(folder: Path, manifest: Manifest, *, content: bool = False, recorded: bool = True) -> None:
    (part,) = manifest.parts
    check_part(folder, part if recorded else part._replace(photos=None, regions=None), K, content=content)


def test_what_was_written_passes(tmp_path: Path, manifest: Manifest) -> None:
    check(tmp_path, manifest)
    check(tmp_path, manifest, content=True)
    check(tmp_path, manifest, recorded=False)


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    pq.write_table(change(pq.read_table(path)), path, **{**PLAIN, **options})


def shuffle(table: pa.Table) -> pa.Table:
    return table.select(table.column_names[::-1])


def widen(table: pa.Table) -> pa.Table:
    return table.set_column(0, "photo", pc.cast(table["photo"], pa.uint64()))


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        (lambda table: table.slice(1), {}, "has 6 photos and should have 7"),
        (lambda table: table.append_column("more", pa.array([0] * 7)), {}, "other columns"),
        (lambda table: table.drop_columns(["photo"]), {}, "other columns"),
        (shuffle, {}, "other columns"),
        (widen, {}, "other columns"),
        (lambda table: table, {"compression": "zstd"}, "is compressed"),
        (lambda table: table, {"compression": "snappy"}, "is compressed"),
        (lambda table: table, {"use_dictionary": True}, "is compressed"),
        (lambda table: table, {"column_encoding": {"photo": "DELTA_BINARY_PACKED"}}, "is compressed"),
    ],
)
@pytest.mark.parametrize("file", [photos_file, regions_file])
def test_foreign_files_are_refused(
    tmp_path: Path, manifest: Manifest, file: Any, change: Any, options: dict[str, Any], says: str
) -> None:
    path = file(tmp_path, manifest.parts[0])
    rewrite(path, change, **options)
    with pytest.raises(DamagedPartError, match=says) as refused:
        check(tmp_path, manifest, recorded=False)
    assert path.name in str(refused.value)
    assert "run 'tagsight index' again" in str(refused.value)


def test_a_file_that_unpacks_to_gigabytes_is_refused_unread(tmp_path: Path, manifest: Manifest) -> None:
    path = photos_file(tmp_path, manifest.parts[0])

    def fill(table: pa.Table) -> pa.Table:
        large = pa.array([bytes(4 * 10**6)] * len(table), pa.binary())
        return table.set_column(table.column_names.index("labels"), "labels", large)

    rewrite(path, fill, compression="zstd")
    assert path.stat().st_size < 50_000
    with pytest.raises(DamagedPartError, match="is compressed"):
        check(tmp_path, manifest, recorded=False)


def test_a_part_of_another_index_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    (other,) = put_posteriors(tmp_path / "other", draw_posteriors(1, 7)).parts
    path = regions_file(tmp_path, manifest.parts[0])
    path.write_bytes(regions_file(tmp_path / "other", other).read_bytes())
    with pytest.raises(DamagedPartError, match=path.name):
        check(tmp_path, manifest, content=True)
    path.unlink()
    with pytest.raises(DamagedPartError, match="it is missing"):
        check(tmp_path, manifest)


@pytest.mark.parametrize("file", [photos_file, regions_file])
def test_every_changed_bit_is_noticed_by_a_build(tmp_path: Path, manifest: Manifest, file: Any) -> None:
    path = file(tmp_path, manifest.parts[0])
    whole = path.read_bytes()
    for content in (*flip_bits(whole, 60), whole[:-1], b""):
        path.write_bytes(content)
        kept, faults = keep_intact(tmp_path, manifest)
        assert kept.parts == ()
        assert len(faults) == 1
        assert path.name in faults[0]
    path.write_bytes(whole)
    assert keep_intact(tmp_path, manifest) == (manifest, ())


def test_every_changed_bit_of_a_manifest_is_noticed(tmp_path: Path, manifest: Manifest) -> None:
    path = tmp_path / "manifest.json"
    whole = path.read_bytes()
    for content in (*flip_bits(whole, 300), whole[:-1], b"", b"[" * 100_000):
        path.write_bytes(content)
        try:
            assert read_manifest(tmp_path) == manifest
        except InputError as problem:
            assert "\n" not in str(problem)  # noqa: PT017


@pytest.mark.parametrize(
    "wrong",
    [
        {"generation": "1"}, {"generation": -1}, {"model": "../../etc"}, {"root": 3}, {"objects": [3]}, {"objects": 3},
        {"n_free": 10**9}, {"next_photo": None}, {"parts": [3]}, {"parts": [{}]}, {"parts": 3},
        {"parts": [{"name": "../../../../etc", "photos": 1, "removed": []}]},
        {"parts": [{"name": "0" * 16, "photos": 1, "removed": [2, 1, 0]}]},
        {"parts": [{"name": "0" * 16, "photos": 1, "removed": [], "files": {"photos": [1]}}]},
    ],
)  # fmt: skip
def test_a_manifest_that_does_not_fit_is_refused(
    tmp_path: Path, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Manifest, "_asdict", lambda self: {**dict(zip(self._fields, self, strict=True)), **wrong})
    monkeypatch.setattr("tagsight.index.manifest._list_parts", lambda manifest: wrong.get("parts", []))
    write_manifest(tmp_path, NO_PARTS)
    with pytest.raises(InputError, match=r"manifest\.json' is damaged"):
        read_manifest(tmp_path)


def put(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Replace the value of a column in the second row."""

    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        values[1] = values[0] if value is None else value
        place = table.column_names.index(name)
        return table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type))

    return change


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        (photos_file, put("boxes", b"ab"), "boxes of a photo are cut short"),
        (photos_file, put("boxes", b""), "boxes of a photo are cut short"),
        (photos_file, put("named", b"abcd"), "other numbers of boxes and of labels"),
        (photos_file, put("labels", b"ab"), "no PNG"),
        (photos_file, put("width", -5), "no pixels"),
        (photos_file, put("path", "../../etc/passwd"), "leads out of the collection"),
        (photos_file, put("path", "/etc/passwd"), "leads out of the collection"),
        (photos_file, put("photo", None), "the same number"),
        (photos_file, put("photo", 4_000_000_000), "not those of the other file"),
        (regions_file, put("photo", 4_000_000_000), "not those of the other file"),
        (regions_file, put("p1", b"abcd"), "other numbers of boxes and of probabilities"),
    ],
)
def test_rows_that_do_not_fit_together_are_refused_whoever_signed_them(
    tmp_path: Path, manifest: Manifest, file: Any, change: Any, says: str
) -> None:
    (part,) = manifest.parts
    rewrite(file(tmp_path, part), change)
    signed = record_files(tmp_path, part)
    write_manifest(tmp_path, manifest._replace(parts=(signed,)))
    with pytest.raises(InputError, match=says):
        open_index(tmp_path)
    kept, faults = keep_intact(tmp_path, read_manifest(tmp_path))
    assert kept.parts == ()
    assert says in faults[0]
    assert "annotated again" in faults[0]
