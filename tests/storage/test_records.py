"""The codec of records: a saved record is loaded unchanged, and invalid content is refused with its field."""

from dataclasses import dataclass
from enum import Enum
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight.errors import InputError
from tagsight.storage.records import (
    RecordError,
    RecordFormat,
    StoredAs,
    decode_record,
    encode_file,
    encode_record,
    load_record,
    save_record,
)
from tagsight.storage.tensor_file import read_tensors, save_tensors
from tagsight.types import Array, Floats, Ints
from tests.flips import flip_bits

FORMAT = RecordFormat("test file", 3, "write it again")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Pair(NamedTuple):
    weights: Array
    offset: Floats


@dataclass(frozen=True)
class Everything:
    flag: bool
    count: int
    scale: float
    name: str
    noise: Literal["isotropic", "full"]
    colour: Colour
    rows: Ints
    pair: Pair
    half: Annotated[Pair, StoredAs("weights", "float16")]
    square: float | Floats
    spare: Pair | None
    pairs: tuple[Pair, ...]
    size: tuple[int, int]
    words: list[str]
    table: dict[str, Floats]
    jpeg: bytes
    bound: float = -inf


def make_pair(seed: float = 0.5) -> Pair:
    return Pair(np.full((2, 3), seed, np.float32), np.arange(3.0))


def make_record(**changes: Any) -> Everything:
    values: dict[str, Any] = {
        "flag": True,
        "count": 3,
        "scale": 0.1,
        "name": "кот",
        "noise": "full",
        "colour": Colour.BLUE,
        "rows": np.arange(4),
        "pair": make_pair(),
        "half": make_pair(),
        "square": 2.5,
        "spare": None,
        "pairs": (make_pair(1.0), make_pair(2.0)),
        "size": (4, 5),
        "words": ["a", "b"],
        "table": {"x": np.zeros(2), "y": np.ones((0, 2))},
        "jpeg": b"\xff\xd8",
    }
    return Everything(**{**values, **changes})


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert_array_equal(a, b, strict=True)
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict | Everything):
        assert_same(list(vars(a).values()) if isinstance(a, Everything) else [*a.items()],
                    list(vars(b).values()) if isinstance(b, Everything) else [*b.items()])  # fmt: skip
    else:
        assert a == b


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"square": np.eye(2), "spare": make_pair(), "pairs": (), "words": [], "table": {}, "jpeg": b"", "bound": 1.5},
        {"rows": np.zeros(0, np.int64), "colour": Colour.RED, "scale": 1e-310},
    ],
)
def test_a_record_is_loaded_as_it_was_saved(tmp_path: Path, changes: dict[str, Any]) -> None:
    record = make_record(**changes)
    save_record(record, tmp_path / "a", FORMAT)
    loaded = load_record(Everything, tmp_path / "a", FORMAT)
    assert_same(loaded, record)
    assert encode_file(loaded, FORMAT) == (tmp_path / "a").read_bytes()


def test_numbers_of_numpy_are_stored_as_plain_ones() -> None:
    record = make_record(count=np.int64(7), scale=np.float32(0.5), flag=np.True_, square=np.array(3.0))
    decoded = decode_record(Everything, *encode_record(record))
    assert_same((decoded.count, decoded.scale, decoded.flag, decoded.square), (7, 0.5, True, 3.0))


def test_marked_arrays_are_stored_with_the_smaller_dtype() -> None:
    _, tensors = encode_record(make_record())
    assert tensors["half.weights"].dtype == np.float16
    assert tensors["half.offset"].dtype == np.float64
    assert tensors["pair.weights"].dtype == np.float32


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("flag",), 1, "'flag' of its header must be true or false, got 1"),
        (("count",), 2.0, "'count' of its header must be a whole number, got 2.0"),
        (("count",), True, "'count' of its header must be a whole number, got True"),
        (("scale",), nan, "'scale' of its header must be a number, got nan"),
        (("scale",), 10**400, "'scale' of its header must be a number, got 10"),
        (("scale",), None, "'scale' of its header must be a number, got None"),
        (("name",), "\ud800", "'name' of its header must be valid text"),
        (("noise",), "loud", "'noise' of its header must be one of isotropic, full, got 'loud'"),
        (("colour",), "green", "'colour' of its header must be one of red, blue"),
        (("pair",), None, "'pair' of its header must be a record"),
        (("pair", "weights"), 1, "'pair.weights' of its header must be null"),
        (("spare",), 3, "'spare' of its header must be a record or null"),
        (("size",), [1], r"'size' of its header must be a list of 2, got \[1\]"),
        (("size",), [1, "x"], r"'size.1' of its header must be a whole number"),
        (("words",), ["a", 1], "'words.1' of its header must be valid text"),
        (("pairs",), [None], "'pairs.0' of its header must be a record"),
        (("pairs",), [], "unknown tensor 'pairs.0.offset'"),
        (("square",), None, "it lacks the tensor 'square'"),
        (("extra",), 1, "the unknown field 'extra'"),
        (("pair", "extra"), 1, "the unknown field 'pair.extra'"),
        (("table",), {"x": None}, "unknown tensor 'table.y'"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_with_its_field(path: tuple[str, ...], value: Any, message: str) -> None:
    header, tensors = encode_record(make_record())
    place = header
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(RecordError, match=message):
        decode_record(Everything, header, tensors)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("rows", np.zeros(3), "'rows' must be of type int64, got float64"),
        ("pair.offset", np.array([1.0, nan]), "'pair.offset' has NaN or infinity"),
        ("half.weights", np.zeros((2, 3)), "'half.weights' must be of type float16, got float64"),
        ("jpeg", np.zeros(3), "'jpeg' must be of type uint8"),
        ("pair.offset", None, "it lacks the tensor 'pair.offset'"),
        ("more", np.zeros(1), "the unknown tensor 'more'"),
    ],
)
def test_a_tensor_that_does_not_fit_is_refused_by_name(name: str, array: Array | None, message: str) -> None:
    header, tensors = encode_record(make_record())
    if array is None:
        del tensors[name]
    else:
        tensors[name] = array
    with pytest.raises(RecordError, match=message):
        decode_record(Everything, header, tensors)


def test_every_flipped_bit_and_every_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_record(make_record(), path, FORMAT)
    content = path.read_bytes()
    for damaged in (*flip_bits(content, 200), *(content[:n] for n in (0, 7, 100, len(content) - 1))):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"write it again|upgrade tagsight") as refusal:
            load_record(Everything, path, FORMAT)
        assert str(path) in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a' is missing; write it again"):
        load_record(Everything, tmp_path / "a", FORMAT)


@pytest.mark.parametrize(
    ("format", "message"),
    [
        (FORMAT._replace(schema=2), r"that is newer \(schema 3, this one reads 2\); upgrade tagsight"),
        (FORMAT._replace(schema=4), r"that is older \(schema 3, this one reads 4\); write it again"),
        (FORMAT._replace(name="model file"), "is a 'test file', not a model file; write it again"),
    ],
)
def test_another_schema_or_format_is_refused(tmp_path: Path, format: RecordFormat, message: str) -> None:
    save_record(make_record(), tmp_path / "a", FORMAT)
    with pytest.raises(InputError, match=message):
        load_record(Everything, tmp_path / "a", format)


def test_a_fault_names_the_file_and_the_field(tmp_path: Path) -> None:
    save_record(make_record(), tmp_path / "a", FORMAT)
    header, tensors, _ = read_tensors(tmp_path / "a")
    assert header is not None
    header["record"]["count"] = "many"
    save_tensors(tmp_path / "a", header, tensors)
    with pytest.raises(InputError, match=r"a' is not a valid test file: the field 'count' .* 'many'; write it"):
        load_record(Everything, tmp_path / "a", FORMAT)


@pytest.mark.parametrize("header", [{"schema": "x"}, {"schema": 3}, {"schema": 3, "record": []}, {}])
def test_a_header_that_is_not_a_record_is_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    save_tensors(tmp_path / "a", header, {})
    with pytest.raises(InputError, match="write it again"):
        load_record(Everything, tmp_path / "a", FORMAT)
