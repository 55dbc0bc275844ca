"""The file of a part: its layout, partial reads, and checks before its content is used."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tagsight.errors import InputError
from tagsight.index import open_index
from tagsight.index.manifest import Manifest, part_file, read_manifest, write_manifest
from tagsight.index.part_file import DamagedPartError, PartFile, join_ranges, write_tensors
from tagsight.index.parts import check_part, keep_intact, measure_file
from tagsight.predict.probabilities import to_levels
from tagsight.types import Array
from tests.flips import flip_bits

from .made import K, draw_posteriors, put_posteriors

Tensors = dict[str, Array]


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return put_posteriors(tmp_path, draw_posteriors(0, 7))


def get_path(folder: Path, manifest: Manifest) -> Path:
    (part,) = manifest.parts
    return part_file(folder, part.name)


def sign(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with size and hash of the part's file as it is now."""
    (part,) = manifest.parts
    return manifest._replace(parts=(part._replace(file=measure_file(get_path(folder, manifest))),))


def test_a_part_is_a_safetensors_file_with_the_levels_of_every_factor(tmp_path: Path, manifest: Manifest) -> None:
    posteriors = draw_posteriors(0, 7)
    tensors = load_file(get_path(tmp_path, manifest))
    assert np.array_equal(tensors["levels"].T, to_levels(np.vstack(posteriors)))
    assert np.abs(tensors["levels"].T / 65535 - np.vstack(posteriors)).max() < 7.7e-6
    for row, (a, b) in enumerate(pairwise(tensors["region_starts"].tolist())):
        assert b - a == len(posteriors[row])
        assert np.array_equal(tensors["tops"][:, row], tensors["levels"][:, a:b].max(axis=1))
    assert tensors["path"].tobytes().decode() == "".join(f"{n:03}.jpg" for n in range(7))


@pytest.mark.parametrize("gap", [0, 1, 5, 1000])
def test_joined_ranges_give_the_same_items_as_single_ones(gap: int) -> None:
    values = np.arange(200)
    rng = np.random.default_rng(gap)
    for _ in range(200):
        edges = np.sort(rng.choice(200, 2 * rng.integers(1, 20), replace=False))
        begins, ends = edges[::2], edges[1::2]
        spans = join_ranges(begins, ends, gap)
        read = np.concatenate([values[a:b] for a, b in zip(spans.begins, spans.ends, strict=True)])
        found = read if spans.picked is None else read[spans.picked]
        assert np.array_equal(found, np.concatenate([values[a:b] for a, b in zip(begins, ends, strict=True)]))
        assert all(after - before > gap for before, after in zip(spans.ends, spans.begins[1:], strict=False))


def test_an_unchanged_part_passes_every_check(tmp_path: Path, manifest: Manifest) -> None:
    check_part(tmp_path, manifest.parts[0], K)
    check_part(tmp_path, manifest.parts[0], K, content=True)


def widen(tensors: Tensors) -> Tensors:
    return {**tensors, "photo": tensors["photo"].astype(np.int64)}


def drop(tensors: Tensors) -> Tensors:
    return {name: values for name, values in tensors.items() if name != "named"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda tensors: {**tensors, "more": np.zeros(7)}, "other tensors than a part"),
        (drop, "other tensors than a part"),
        (widen, "other tensors than a part"),
        (lambda tensors: {**tensors, "size": tensors["size"][:6]}, "other tensors than a part"),
        (lambda tensors: {"photo": tensors["photo"]}, "not the safetensors file of a part"),
    ],
)
def test_other_safetensors_files_are_refused(
    tmp_path: Path, manifest: Manifest, change: Callable[[Tensors], Tensors], fault: str
) -> None:
    path = get_path(tmp_path, manifest)
    save_file(change(load_file(path)), path)
    with pytest.raises(DamagedPartError, match=fault) as refused:
        check_part(tmp_path, sign(tmp_path, manifest).parts[0], K)
    assert path.name in str(refused.value)
    assert "run 'tagsight index' again" in str(refused.value)


def test_a_header_with_false_shapes_is_refused_before_anything_is_read(tmp_path: Path, manifest: Manifest) -> None:
    path = get_path(tmp_path, manifest)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    for name, shape in (("photo", [10**15]), ("boxes", [-1, 4]), ("tops", [True, 7]), ("path", [2.0]), ("path", [])):
        text = json.dumps({**header, name: {**header[name], "shape": shape}}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :])
        with pytest.raises(DamagedPartError):
            check_part(tmp_path, sign(tmp_path, manifest).parts[0], K)
    for content in (b"", b"\xff" * 8, (2**60).to_bytes(8, "little"), b"\x02" + bytes(7) + b"[]"):
        path.write_bytes(content)
        with pytest.raises(DamagedPartError, match="not the safetensors file of a part"):
            check_part(tmp_path, sign(tmp_path, manifest).parts[0], K)


def test_a_part_with_other_photos_or_factors_than_the_manifest_lists_is_refused(
    tmp_path: Path, manifest: Manifest
) -> None:
    with pytest.raises(DamagedPartError, match="has 7 photos and should have 6"):
        check_part(tmp_path, manifest.parts[0]._replace(n_photos=6), K)
    with pytest.raises(DamagedPartError, match=f"has {K} factors and should have {K + 1}"):
        check_part(tmp_path, manifest.parts[0], K + 1)


def test_the_part_of_another_index_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    other = put_posteriors(tmp_path / "other", draw_posteriors(1, 7))
    path = get_path(tmp_path, manifest)
    path.write_bytes(get_path(tmp_path / "other", other).read_bytes())
    with pytest.raises(DamagedPartError, match=path.name):
        check_part(tmp_path, manifest.parts[0], K, content=True)
    path.unlink()
    with pytest.raises(DamagedPartError, match="it is missing"):
        check_part(tmp_path, manifest.parts[0], K)


def test_a_build_detects_every_changed_bit(tmp_path: Path, manifest: Manifest) -> None:
    path = get_path(tmp_path, manifest)
    whole = path.read_bytes()
    for content in (*flip_bits(whole, 100), whole[:-1], b""):
        path.write_bytes(content)
        kept, faults = keep_intact(tmp_path, manifest)
        assert kept.parts == ()
        assert len(faults) == 1
        assert path.name in faults[0]
    path.write_bytes(whole)
    assert keep_intact(tmp_path, manifest) == (manifest, ())


def test_a_file_that_changes_under_an_open_index_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    index = open_index(tmp_path)
    path = get_path(tmp_path, manifest)
    assert index.find("horse")
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(InputError, match="changed since the index was opened"):
        index.find("car")
    path.unlink()
    with pytest.raises(InputError, match="lacks a file"):
        index.find("car")


def put(name: str, row: int | tuple[int, ...], value: object) -> Callable[[Tensors], Tensors]:
    """Replace a value of a tensor."""

    def change(tensors: Tensors) -> Tensors:
        values = tensors[name].copy()
        values[row] = value
        return {**tensors, name: values}

    return change


def rename(path: bytes) -> Callable[[Tensors], Tensors]:
    """Replace the path of the first photo."""

    def change(tensors: Tensors) -> Tensors:
        names = [path, *(f"{n:03}.jpg".encode() for n in range(1, 7))]
        starts = np.cumsum([0, *map(len, names)])
        return {**tensors, "path": np.frombuffer(b"".join(names), np.uint8), "path_starts": starts}

    return change


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (put("photo", 1, 0), "the same number"),
        (put("size", (1, 0), -5), "no pixels"),
        (put("region_starts", 1, 0), "other regions than it holds"),
        (put("region_starts", 7, 10**12), "other regions than it holds"),
        (put("region_starts", 0, -1), "other regions than it holds"),
        (put("path_starts", 1, 0), "'path_starts' does not fit"),
        (put("path_starts", 3, 10**15), "'path_starts' does not fit"),
        (put("label_map_starts", 7, -3), "'label_map_starts' does not fit"),
        (put("label_map", 0, 0), "not a PNG image"),
        (put("label_map_starts", 1, 3), "not a PNG image"),
        (rename(b"../../etc/passwd"), "leads out of the collection"),
        (rename(b"/etc/passwd"), "leads out of the collection"),
        (rename(b"a\0b"), "leads out of the collection"),
        (rename(b"\xff\xfe"), "not valid Unicode"),
    ],
)
def test_values_that_do_not_fit_together_are_refused_even_with_a_correct_checksum(
    tmp_path: Path, manifest: Manifest, change: Callable[[Tensors], Tensors], fault: str
) -> None:
    path = get_path(tmp_path, manifest)
    write_tensors(path, change(load_file(path)))
    write_manifest(tmp_path, sign(tmp_path, manifest))
    with pytest.raises(InputError, match=fault):
        open_index(tmp_path)
    kept, faults = keep_intact(tmp_path, read_manifest(tmp_path))
    assert kept.parts == ()
    assert fault.replace("'", "") in faults[0].replace("'", "")
    assert "annotated again" in faults[0]


@pytest.mark.parametrize("name", ["path_starts", "label_map_starts"])
def test_offsets_outside_a_file_that_was_not_hashed_are_refused(
    tmp_path: Path, manifest: Manifest, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagsight.index.parts.MOST_HASHED", 0)
    path = get_path(tmp_path, manifest)
    write_tensors(path, put(name, 3, 10**15)(load_file(path)))
    write_manifest(tmp_path, sign(tmp_path, manifest))
    index = open_index(tmp_path)
    with pytest.raises(InputError, match="has no such values"):
        index.load_photo(2)
    assert PartFile(path).counts.photos == 7
