"""Small ONNX networks for tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
Value = tuple[str, int, Sequence[int | str] | None]  # name, type and shape of an input or output


def save_model(
    path: Path,
    nodes: Sequence[NodeProto],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    stored: Sequence[TensorProto] = (),
) -> Path:
    """Save a graph; return `path`."""
    graph = helper.make_graph(
        list(nodes),
        "toy",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        list(stored),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def save_network(path: Path, *, channels: int = 2, gain: float = 1.0) -> Path:
    """Save a 1x1 convolution of stride 32; return `path`."""
    kernel = numpy_helper.from_array(np.full((channels, 3, 1, 1), gain, np.float32), "kernel")
    node = helper.make_node("Conv", ["image", "kernel"], ["map"], strides=[32, 32])
    inputs = [("image", FLOAT, (1, 3, "h", "w"))]
    return save_model(path, [node], inputs, [("map", FLOAT, (1, channels, "rows", "columns"))], [kernel])


def save_pooler(
    path: Path,
    *,
    shape: Sequence[int | str] = (1, 3, "H", "W"),
    output: Value = ("map", FLOAT, (1, 3, "h", "w")),
    cell: int = 4,
) -> Path:
    """Save a network whose map is the mean of each cell x cell square of its NCHW input; return `path`."""
    node = helper.make_node("AveragePool", ["image"], [output[0]], kernel_shape=[cell, cell], strides=[cell, cell])
    return save_model(path, [node], [("image", FLOAT, shape)], [output])


def save_transformer(
    path: Path,
    *,
    shape: Sequence[int | str] = (1, 3, "H", "W"),
    patch_size: int = 16,
    n_extra: int = 1,
    also: Sequence[str] = (),
) -> Path:
    """Save a network with the outputs of a vision transformer; return `path`.

    Its tokens (1, T, 3) are `n_extra` tokens of 1000, then the mean colour of each patch, row by row. `also` names
    outputs that have twice as large values.
    """
    side = [patch_size, patch_size]
    nodes = [
        helper.make_node("AveragePool", ["image"], ["patches"], kernel_shape=side, strides=side),
        helper.make_node("Reshape", ["patches", "flat_shape"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["embedded"], perm=[0, 2, 1]),
        helper.make_node("Concat", ["extra", "embedded"], ["tokens"], axis=1),
        helper.make_node("ReduceMean", ["tokens"], ["pooled"], axes=[1], keepdims=0),
        *(helper.make_node("Add", ["tokens", "tokens"], [name]) for name in also),
    ]
    stored = [
        numpy_helper.from_array(np.array([1, 3, -1]), "flat_shape"),
        numpy_helper.from_array(np.full((1, n_extra, 3), 1000, np.float32), "extra"),
    ]
    outputs = [("pooled", FLOAT, (1, 3)), *((name, FLOAT, (1, "T", 3)) for name in ("tokens", *also))]
    return save_model(path, nodes, [("image", FLOAT, shape)], outputs, stored)
