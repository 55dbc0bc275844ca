"""Writes ONNX models as protocol buffers, without the `onnx` package.

A message is a sequence of fields: a key (field number and wire type) and a value. Only the messages and fields that a
convolutional network of single precision needs are here, with the numbers of onnx.proto.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tagsight.types import Array

OPSET = 13
IR_VERSION = 8
FLOAT = 1  # TensorProto.DataType
ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_INTS = 2, 3, 7  # AttributeProto.AttributeType
VARINT, LENGTH_DELIMITED = 0, 2  # wire types


def encode_model(
    name: str, nodes: Sequence[bytes], weights: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    """The content of an ONNX file whose graph has these encoded nodes, weights, inputs and outputs."""
    graph = b"".join(
        (
            *(_encode_field(1, node) for node in nodes),
            _encode_field(2, name),
            *(_encode_field(5, tensor) for tensor in weights),
            *(_encode_field(11, value) for value in inputs),
            *(_encode_field(12, value) for value in outputs),
        )
    )
    opset = _encode_field(1, "") + _encode_field(2, OPSET)
    return _encode_field(1, IR_VERSION) + _encode_field(7, graph) + _encode_field(8, opset)


def encode_node(operator: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> bytes:
    """A NodeProto with one output, which is also its name."""
    return b"".join(
        (
            *(_encode_field(1, name) for name in inputs),
            _encode_field(2, output),
            _encode_field(3, output),
            _encode_field(4, operator),
            *(_encode_field(5, _encode_attribute(name, attributes[name])) for name in sorted(attributes)),
        )
    )


def encode_tensor(values: Array, name: str) -> bytes:
    """A TensorProto of float32 values."""
    if values.dtype != np.float32:
        raise TypeError(f"the tensor {name!r} has type {values.dtype}; only float32 is written")
    content = np.ascontiguousarray(values, "<f4").tobytes()
    dims = b"".join(_encode_field(1, side) for side in values.shape)
    return dims + _encode_field(2, FLOAT) + _encode_field(8, name) + _encode_field(9, content)


def encode_value(name: str, shape: Sequence[int | str]) -> bytes:
    """A ValueInfoProto: a float32 input or output of the graph; sides that are free have names."""
    dims = b"".join(_encode_field(1, _encode_field(2 if isinstance(side, str) else 1, side)) for side in shape)
    tensor = _encode_field(1, FLOAT) + _encode_field(2, dims)
    return _encode_field(1, name) + _encode_field(2, _encode_field(1, tensor))


def _encode_attribute(name: str, value: int | str | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _encode_field(1, name) + _encode_field(3, value) + _encode_field(20, ATTRIBUTE_INT)
    if isinstance(value, str):
        return _encode_field(1, name) + _encode_field(4, value) + _encode_field(20, ATTRIBUTE_STRING)
    ints = b"".join(_encode_field(8, one) for one in value)
    return _encode_field(1, name) + ints + _encode_field(20, ATTRIBUTE_INTS)


def _encode_field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _encode_varint(number << 3 | VARINT) + _encode_varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _encode_varint(number << 3 | LENGTH_DELIMITED) + _encode_varint(len(content)) + content


def _encode_varint(value: int) -> bytes:
    """A whole number of 0 or more, seven bits per byte, the lowest first."""
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))
