"""Small ONNX networks for tests."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def save_network(path: Path, *, channels: int = 2, gain: float = 1.0) -> Path:
    """Save a 1x1 convolution of stride 32; return `path`."""
    kernel = numpy_helper.from_array(np.full((channels, 3, 1, 1), gain, np.float32), "kernel")
    node = helper.make_node("Conv", ["image", "kernel"], ["map"], strides=[32, 32])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "h", "w"])
    output = helper.make_tensor_value_info("map", TensorProto.FLOAT, [1, channels, "rows", "columns"])
    graph = helper.make_graph([node], "network", [image], [output], [kernel])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    path.write_bytes(model.SerializeToString())
    return path
