"""The ONNX writer against the `onnx` package."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tagsight.features.onnx_file import encode_model, encode_node, encode_tensor, encode_value


def test_a_model_has_the_bytes_that_the_onnx_package_writes() -> None:
    kernel = np.random.default_rng(0).normal(size=(300, 3, 3, 3)).astype(np.float32)  # lengths of several bytes
    sides: list[int | str] = [1, 300, "rows", "columns"]
    attributes = {"strides": [2, 1], "group": 1, "auto_pad": "SAME_UPPER"}
    content = encode_model(
        "small",
        [encode_node("Conv", ["image", "kernel"], "map", attributes)],
        [encode_tensor(kernel, "kernel"), encode_tensor(np.asarray(np.float32(6)), "six")],
        [encode_value("image", [1, 3, "height", "width"])],
        [encode_value("map", sides)],
    )
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "kernel"], ["map"], name="map", **attributes)],
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])],
        [helper.make_tensor_value_info("map", TensorProto.FLOAT, sides)],
        [numpy_helper.from_array(kernel, "kernel"), numpy_helper.from_array(np.asarray(np.float32(6)), "six")],
    )
    expected = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(expected, full_check=True)
    assert content == expected.SerializeToString(deterministic=True)


def test_only_single_precision_is_written() -> None:
    with pytest.raises(TypeError, match="float64"):
        encode_tensor(np.zeros(3), "zeros")
