"""The built-in networks by PyTorch, for many photos at once: the same ONNX graph, node by node.

The graph has three kinds of nodes: convolutions with SAME padding, clips right after them, and sums. All arithmetic is
single precision: it differs from the CPU's by a millionth, where TF32 would differ by a thousandth.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor
from torch.nn.functional import conv2d, pad

from tagsight.errors import InputError


class _Node(NamedTuple):
    operator: str
    inputs: tuple[str, ...]
    output: str
    options: dict[str, Any]
    finished: tuple[str, ...]  # values that no later node needs, unless they are outputs


class TorchNetwork:
    """The network whose ONNX file holds `content`, on `device`."""

    def __init__(self, content: bytes, device: torch.device):
        graph = onnx.load_model_from_string(content).graph
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._stored = {
            name: torch.from_numpy(array.copy()).to(device) if array.ndim else array.item()
            for name, array in arrays.items()
        }
        self._image = graph.input[0].name
        self._nodes = _order(graph, self._stored)
        unknown = {node.operator for node in self._nodes} - set(_OPERATORS)
        if unknown:
            raise InputError(f"only built-in networks run by PyTorch, and this one has {', '.join(sorted(unknown))}")

    @torch.inference_mode()
    def maps(self, images: Tensor, names: Sequence[str]) -> list[Tensor]:
        """The named maps, each (n, C, rows, columns), of normalised images (n, 3, H, W)."""
        values: dict[str, Any] = {**self._stored, self._image: images}
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            for node in self._nodes:
                values[node.output] = _OPERATORS[node.operator](node, *(values[name] for name in node.inputs))
                for name in node.finished:
                    if name not in names:
                        del values[name]
                if all(name in values for name in names):
                    break
        return [values[name] for name in names]


def _order(graph: onnx.GraphProto, stored: dict[str, Any]) -> list[_Node]:
    last = {name: index for index, node in enumerate(graph.node) for name in node.input if name not in stored}
    return [
        _Node(
            node.op_type,
            tuple(node.input),
            node.output[0],
            {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute},
            tuple(name for name in dict.fromkeys(node.input) if last.get(name) == index),
        )
        for index, node in enumerate(graph.node)
    ]


def _convolve(node: _Node, x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    stride = node.options["strides"]
    down, across = (_same_padding(x.shape[i + 2], kernel.shape[i + 2], stride[i]) for i in range(2))
    if down[0] == down[1] and across[0] == across[1]:
        return conv2d(x, kernel, bias, stride, padding=(down[0], across[0]), groups=node.options["group"])
    return conv2d(pad(x, (*across, *down)), kernel, bias, stride, groups=node.options["group"])


def _same_padding(side: int, kernel: int, stride: int) -> tuple[int, int]:
    """SAME_UPPER: ceil(side / stride) outputs, the odd zero at the end."""
    total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    return total // 2, total - total // 2


def _clip(node: _Node, x: Tensor, lowest: float, highest: float) -> Tensor:
    return x.clamp_(lowest, highest)  # in place: only the clip needs the output of a convolution


def _add(node: _Node, a: Tensor, b: Tensor) -> Tensor:
    return a + b


_OPERATORS = {"Conv": _convolve, "Clip": _clip, "Add": _add}
