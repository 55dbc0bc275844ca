"""One codec between records and files, for every record that tagsight stores as safetensors.

A record is a NamedTuple or a dataclass. Its type hints decide how it is stored and what is accepted on loading:

    arrays, bytes                          a tensor, named by the path of its field, such as `parts.model.mean`
    bool, int, float, str, None, Literal   JSON
    records, tuples, lists, dicts          JSON, nested; arrays in them are null there

A file holds the format's name and schema, the record, and a SHA-256 of everything (see `tensor_file`). Loading checks
the checksum, the names of all fields, types, dtypes, and that numbers are finite. Nothing in a file is ever executed.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from math import isnan
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from safetensors import SafetensorError

from tagsight.errors import InputError
from tagsight.storage.tensor_file import Header, Tensors, encode_tensors, is_json_object, read_tensors, save_tensors
from tagsight.types import Array

T = TypeVar("T")

MAX_INTEGER = 2**1023  # larger integers have no exact float
MAX_SHOWN = 60  # characters of a wrong value in a message


class RecordFormat(NamedTuple):
    """A kind of file."""

    name: str  # in messages, such as "model file"
    schema: int  # files of another schema are refused
    remedy: str  # what to do about a damaged, missing or outdated file


class StoredAs(NamedTuple):
    """Marks a nested record, in `Annotated`, that has an array stored with a smaller dtype.

    The array is converted back when it is loaded. Its numbers must be exact in the smaller dtype.
    """

    field: str
    dtype: str


class RecordError(ValueError):
    """The content of a file does not fit its record; the message names the field."""


def save_record(record: Any, path: Path, format: RecordFormat) -> None:
    """Write a record; at any time, `path` holds the previous content or the new one."""
    save_tensors(path, *_sign(record, format))


def encode_file(record: Any, format: RecordFormat) -> bytes:
    """The content of the record's file; equal records have equal content."""
    return encode_tensors(*_sign(record, format))


def _sign(record: Any, format: RecordFormat) -> tuple[Header, Tensors]:
    header, tensors = encode_record(record)
    return {"format": format.name, "schema": format.schema, "record": header}, tensors


def load_record(kind: type[T], path: Path, format: RecordFormat) -> T:
    """The record of type `kind` in a file that `save_record` wrote.

    Raises InputError, with the path and the remedy, for a file that is missing, damaged, of another format or schema,
    or whose content does not fit the record.
    """
    try:
        header, tensors, intact = read_tensors(path)
    except FileNotFoundError as problem:
        raise InputError(f"{str(path)!r} is missing; {format.remedy}") from problem
    except (SafetensorError, OSError) as problem:
        reason = f"{str(path)!r} is not a {format.name}, or is cut short: {problem}"
        raise InputError(f"{reason}; {format.remedy}") from problem
    if header is None:
        raise InputError(f"{str(path)!r} is not a {format.name}, or is damaged; {format.remedy}")
    _check_format(header, path, format)
    if not intact:
        raise InputError(f"{str(path)!r} is damaged: its checksum does not match; {format.remedy}")
    try:
        return decode_record(kind, header.get("record"), tensors)
    except RecordError as fault:
        raise InputError(f"{str(path)!r} is not a valid {format.name}: {fault}; {format.remedy}") from fault


def _check_format(header: Header, path: Path, format: RecordFormat) -> None:
    name, schema = header.get("format", format.name), header.get("schema")
    if name != format.name:
        raise InputError(f"{str(path)!r} is a {shorten(name)}, not a {format.name}; {format.remedy}")
    if type(schema) is not int:
        raise InputError(f"{str(path)!r} is damaged: its header has no schema; {format.remedy}")
    if schema != format.schema:
        age, remedy = ("newer", "upgrade tagsight") if schema > format.schema else ("older", format.remedy)
        raise InputError(
            f"{str(path)!r} was written by a tagsight that is {age} (schema {schema}, this one reads {format.schema}); "
            f"{remedy}"
        )


def encode_record(record: Any) -> tuple[Header, Tensors]:
    """The record as JSON values and tensors."""
    tensors: Tensors = {}
    return _encode(record, type(record), "", tensors), tensors


def decode_record(kind: type[T], header: Any, tensors: Mapping[str, Array]) -> T:
    """The record of type `kind` from the values of `encode_record`; RecordError if they do not fit."""
    left = set(tensors)
    record = _decode(header, kind, "", tensors, left)
    if left:
        raise RecordError(f"it has the unknown tensor {shorten(min(left))}")
    return record


def shorten(value: Any) -> str:
    """The value for a message, cut after MAX_SHOWN characters."""
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}..."


def _encode(value: Any, hint: Any, path: str, tensors: Tensors) -> Any:
    """The JSON value of a field; arrays and bytes go to `tensors` instead."""
    options, marks = _unwrap(hint)
    if isinstance(value, bytes):
        tensors[path] = np.frombuffer(value, np.uint8)
        return None
    if _is_tensor(value, options):
        _check_dtype(value, options, path)
        tensors[path] = value
        return None
    kind = cast("type[Any]", type(value))
    if _is_record(kind):
        hints = _list_hints(kind)
        header = {name: _encode(getattr(value, name), hints[name], _join(path, name), tensors) for name in hints}
        for mark in marks:
            place = _join(path, mark.field)
            tensors[place] = tensors[place].astype(mark.dtype)
        return header
    if is_json_object(value):
        (item,) = [get_args(option)[1] for option in options if get_origin(option) is dict]
        return {key: _encode(one, item, _join(path, key), tensors) for key, one in value.items()}
    if _is_sequence(value):
        (sequence,) = [option for option in options if get_origin(option) in (tuple, list)]
        items = _list_items(sequence, len(value))
        return [
            _encode(one, item, _join(path, str(i)), tensors)
            for i, (one, item) in enumerate(zip(value, items, strict=True))
        ]
    if isinstance(value, Enum):
        return value.value
    plain: Any = value.item() if _is_number(value) else value
    return float(plain) if float in options and type(plain) is int else plain


def _decode(value: Any, hint: Any, path: str, tensors: Mapping[str, Array], left: set[str]) -> Any:
    """The value of a field from its JSON value or tensor; names of used tensors are removed from `left`."""
    options, marks = _unwrap(hint)
    tensor_options = [option for option in options if option is bytes or _is_array(option)]
    if tensor_options and path in tensors and value is None:
        left.discard(path)
        return _decode_tensor(tensors[path], tensor_options, path)
    for option in options:
        if _is_record(option) and is_json_object(value):
            return _decode_fields(option, value, path, tensors, left, marks)
        if get_origin(option) in (tuple, list) and _is_list(value):
            items = _list_items(option, len(value))
            if len(items) == len(value):
                numbered = enumerate(zip(value, items, strict=True))
                decoded = [_decode(one, item, _join(path, str(i)), tensors, left) for i, (one, item) in numbered]
                return tuple(decoded) if get_origin(option) is tuple else decoded
        if get_origin(option) is dict and is_json_object(value) and all(map(_is_text, value)):
            item = get_args(option)[1]
            return {key: _decode(one, item, _join(path, key), tensors, left) for key, one in value.items()}
        if _fits(value, option):
            return _convert(value, option)
    if tensor_options and value is None:
        raise RecordError(f"it lacks the tensor {path!r}")
    wanted = " or ".join(_describe(option) for option in options)
    raise RecordError(f"the field {path!r} of its header must be {wanted}, got {shorten(value)}")


def _decode_fields(
    kind: Any, header: Header, path: str, tensors: Mapping[str, Array], left: set[str], marks: list[StoredAs]
) -> Any:
    hints = _list_hints(kind)
    if unknown := sorted(set(header) - set(hints)):
        raise RecordError(f"its header has the unknown field {shorten(_join(path, unknown[0]))}")
    if missing := [name for name in hints if name not in header]:
        raise RecordError(f"its header lacks the field {_join(path, missing[0])!r}")
    values = {name: _decode(header[name], hint, _join(path, name), tensors, left) for name, hint in hints.items()}
    for mark in marks:
        array = values[mark.field]
        if getattr(array, "dtype", None) != mark.dtype:
            raise RecordError(f"the tensor {_join(path, mark.field)!r} must be of type {mark.dtype}, got {array.dtype}")
        values[mark.field] = array.astype(np.float32)
    return kind(**values)


def _decode_tensor(array: Array, options: list[Any], path: str) -> Any:
    if options == [bytes]:
        if array.dtype != np.uint8 or array.ndim != 1:
            raise RecordError(f"the tensor {path!r} must be of type uint8 with one axis, got {array.dtype}")
        return array.tobytes()
    _check_dtype(array, options, path)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise RecordError(f"the tensor {path!r} has NaN or infinity in it")
    return array


def _check_dtype(array: Array, options: list[Any], path: str) -> None:
    for option in options:
        if _is_array(option):
            (dtype,) = get_args(get_args(option)[1])
            if dtype is not Any and array.dtype != dtype:
                raise RecordError(f"the tensor {path!r} must be of type {dtype.__name__}, got {array.dtype}")


@cache
def _unwrap(hint: Any) -> tuple[list[Any], list[StoredAs]]:
    """The alternatives of a type hint, and its marks."""
    marks: list[StoredAs] = []
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        marks = [one for one in extras if isinstance(one, StoredAs)]
    if alias := getattr(get_origin(hint), "__value__", None):  # NDArray, with NumPy 2.5 or later
        hint = alias[get_args(hint)]
    if get_origin(hint) in (Union, UnionType):
        return [option for one in get_args(hint) for option in _unwrap(one)[0]], marks
    return [hint], marks


@cache
def _list_hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: hints[name] for name in names}


def _list_items(sequence: Any, n: int) -> list[Any]:
    """The type hints of a tuple's or list's items."""
    items = get_args(sequence)
    return [items[0]] * n if get_origin(sequence) is list or items[-1] is Ellipsis else list(items)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or _is_named_tuple(kind))


def _is_named_tuple(kind: Any) -> bool:
    return issubclass(kind, tuple) and hasattr(cast("Any", kind), "_fields")


def _is_array(option: Any) -> bool:
    return get_origin(option) is np.ndarray


def _is_enum(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, Enum)


def _is_tensor(value: Any, options: list[Any]) -> TypeGuard[Array]:
    """Whether a value is an array; one of no axes may stand for a number instead."""
    return isinstance(value, np.ndarray) and not (value.ndim == 0 and (float in options or int in options))


def _is_number(value: Any) -> TypeGuard[np.generic | Array]:
    """Whether a value is a number of NumPy's."""
    return isinstance(value, np.generic | np.ndarray)


def _is_sequence(value: Any) -> TypeGuard[tuple[Any, ...] | list[Any]]:
    return isinstance(value, tuple | list)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_text(value: Any) -> bool:
    """Whether a value is text that UTF-8 can express."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _fits(value: Any, option: Any) -> bool:
    """Whether a JSON value has the simple type `option`."""
    if option is float:
        return (type(value) is float and not isnan(value)) or (type(value) is int and abs(value) < MAX_INTEGER)
    if option is str:
        return _is_text(value)
    if option in (bool, int):
        return type(value) is option
    if option in (None, NoneType):
        return value is None
    if get_origin(option) is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(option))
    if _is_enum(option):
        return value in [member.value for member in option]
    return False


def _convert(value: Any, option: Any) -> Any:
    return option(value) if option is float or _is_enum(option) else value


def _describe(option: Any) -> str:
    """The type, in the words of a message."""
    if get_origin(option) is Literal:
        return f"one of {', '.join(map(str, get_args(option)))}"
    if _is_enum(option):
        return f"one of {', '.join(str(member.value) for member in option)}"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "valid text", NoneType: "null"}
    kind = get_origin(option) or option
    if kind in (tuple, list):
        items = get_args(option)
        some = kind is list or items[-1] is Ellipsis
        return "a list" if some else f"a list of {len(items)}"
    return names.get(kind, "null" if _is_array(option) or option is bytes else "a record")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
