"""A network from an ONNX file, run by onnxruntime on the CPU: an image in, maps (rows, columns, C) out.

The outputs of a convolutional network are maps. Those of a vision transformer are tokens (1, T, C), one per patch of
the image, row by row, after a class token and register tokens. Both become maps in `OnnxNetwork.run`.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as runtime

from tagsight.errors import InputError
from tagsight.features.network_spec import IMAGE_AXES, NetworkSpec, locate_spec
from tagsight.types import Array

PATCH_SIZES = (4, 8, 14, 16, 32)  # that are recognised
MAX_EXTRA_TOKENS = 16  # class and register tokens, where their number is inferred
PROBE_SIDE = 224  # pixels; a multiple of each of PATCH_SIZES

_RUNTIME_ERRORS = (
    runtime.Fail,
    runtime.InvalidArgument,
    runtime.InvalidGraph,
    runtime.InvalidProtobuf,
    runtime.NoModel,
    runtime.NotImplemented,
    runtime.RuntimeException,
)
_INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


class ImageInput(NamedTuple):
    """The input of a network."""

    name: str
    dtype: type[np.float32 | np.float16 | np.uint8]
    layout: str  # one of IMAGE_AXES
    size: tuple[int, int] | None  # (height, width) of every image, if it is fixed

    def get_size(self, tensor: Array) -> tuple[int, int]:
        """The (height, width) of the image in an input tensor."""
        _, rows, columns = IMAGE_AXES[self.layout]
        return tensor.shape[rows], tensor.shape[columns]


class MapOutput(NamedTuple):
    """An output of a network that is used."""

    layout: str  # one of OUTPUT_LAYOUTS
    patch_size: int = 0  # of tokens: pixels of a side of a patch
    drop_tokens: int = 0  # leading tokens that are not patches


class OnnxNetwork:
    """A network with one image input, and maps or tokens of patches as outputs.

    The input is (1, 3, H, W) or (1, H, W, 3), of float32, float16 or uint8.
    """

    def __init__(self, path: Path, content: bytes, spec: NetworkSpec, *, threads: int):
        """Open the `content` of the file at `path`."""
        self.path = path
        self._session = _open_session(path, content, threads)
        self.input = _read_input(path, self._session, spec)
        layouts = _choose_outputs(path, self._session, spec, self.input.layout)
        self.outputs = {name: MapOutput(layout) for name, layout in layouts.items()}
        if tokens := tuple(name for name, layout in layouts.items() if layout == "NTC"):
            self.outputs |= self._find_patches(tokens, spec)

    def run(self, tensor: Array, names: tuple[str, ...]) -> list[Array]:
        """The named outputs for an input tensor, as maps (rows, columns, C) float32 that tile the image."""
        unknown = [name for name in names if name not in self.outputs]
        if unknown or not names:
            raise InputError(f"{self.path} gives the maps {', '.join(self.outputs)}, not {unknown or 'none'}")
        outputs = self._run_session(tensor, names)
        return [self._to_map(name, values, tensor) for name, values in zip(names, outputs, strict=True)]

    def _run_session(self, tensor: Array, names: tuple[str, ...]) -> list[Array]:
        """The named outputs as they are."""
        try:
            found = [np.asarray(values) for values in self._session.run(list(names), {self.input.name: tensor})]
        except _RUNTIME_ERRORS as problem:
            raise InputError(
                f"{self.path} fails on an input of shape {tensor.shape}: {str(problem).strip()}; if it takes images of "
                f'one size only, give "size": [height, width] in {str(locate_spec(self.path))!r}'
            ) from problem
        for name, values in zip(names, found, strict=True):
            layout = self.outputs[name].layout
            if values.ndim != len(layout) or len(values) != 1 or values.size == 0:
                raise InputError(
                    f"{self.path} gives {name} of shape {values.shape}; in the layout {layout} it must be "
                    f"{len(layout)}-D with a batch of 1"
                )
        return found

    def _to_map(self, name: str, values: Array, tensor: Array) -> Array:
        layout, patch_size, drop_tokens = self.outputs[name]
        if layout == "NTC":
            height, width = self.input.get_size(tensor)
            rows, columns = height // patch_size, width // patch_size
            if values.shape[1] != drop_tokens + rows * columns:
                raise InputError(
                    f"{self.path} gives {name} with {values.shape[1]} tokens for {height} x {width} pixels, not "
                    f"{drop_tokens} + {rows} x {columns}, as patches of {patch_size} pixels need; "
                    f"{_advise_on_tokens(self.path)}"
                )
            found = values[0, drop_tokens:].reshape(rows, columns, -1)
        else:
            channels, rows, columns = IMAGE_AXES[layout]
            found = values.transpose(0, rows, columns, channels)[0]
        return found.astype(np.float32, copy=False)

    def _find_patches(self, names: tuple[str, ...], spec: NetworkSpec) -> dict[str, MapOutput]:
        """The outputs of tokens; what `spec` leaves open follows from the number of tokens for a black image."""
        if spec.patch_size is not None and spec.drop_tokens is not None:
            return dict.fromkeys(names, MapOutput("NTC", spec.patch_size, spec.drop_tokens))
        side = PROBE_SIDE if spec.patch_size is None else -(-PROBE_SIDE // spec.patch_size) * spec.patch_size
        height, width = self.input.size or (side, side)
        shape = (1, 3, height, width) if self.input.layout == "NCHW" else (1, height, width, 3)
        outputs = self._run_session(np.zeros(shape, self.input.dtype), names)
        return {
            name: _infer_patches(self.path, name, values.shape[1], (height, width), spec)
            for name, values in zip(names, outputs, strict=True)
        }


def _open_session(path: Path, content: bytes, threads: int) -> onnxruntime.InferenceSession:
    """Open from bytes, not from the path: exactly the hashed content runs, without weights in other files."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except _RUNTIME_ERRORS as problem:
        raise InputError(
            f"{path} does not load as a self-contained ONNX model: {problem}; export it with its weights in the file"
        ) from problem


def _read_input(path: Path, session: onnxruntime.InferenceSession, spec: NetworkSpec) -> ImageInput:
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise InputError(f"{path} has inputs {[one.name for one in inputs]}; a backbone has one, the image")
    (image,) = inputs
    shape = image.shape
    layout = spec.input_layout or _infer_layout(shape)
    if layout is None or image.type not in _INPUT_TYPES or not _is_image(shape, layout):
        raise InputError(
            f"{path} takes {image.name} of shape {shape}, {image.type}; "
            f"a backbone takes (1, 3, H, W) or (1, H, W, 3), float, float16 or uint8"
        )
    height, width = (shape[axis] for axis in IMAGE_AXES[layout][1:])
    if isinstance(height, int) != isinstance(width, int):
        raise InputError(f"{path} fixes one side of its input and not the other: {shape}; export both alike")
    fixed = (height, width) if isinstance(height, int) and isinstance(width, int) else None
    if fixed and spec.size not in (None, fixed):
        raise InputError(
            f"{path} takes images of {height} x {width} pixels only, and the key 'size' of "
            f"{str(locate_spec(path))!r} is {spec.size}; remove that key"
        )
    size = spec.size if isinstance(spec.size, tuple) else fixed
    return ImageInput(image.name, _INPUT_TYPES[image.type], layout, size)


def _infer_layout(shape: list[Any]) -> str | None:
    """The layout whose channel axis has length 3; NCHW where the axis after the batch is free."""
    if len(shape) != 4:
        return None
    found = next((layout for layout, axes in IMAGE_AXES.items() if shape[axes[0]] == 3), None)
    return found or (None if isinstance(shape[1], int) else "NCHW")


def _is_image(shape: list[Any], layout: str) -> bool:
    """Whether one image of three channels has a shape; names and None are free axes."""
    if len(shape) != 4:
        return False
    batch, channels = shape[0], shape[IMAGE_AXES[layout][0]]
    return (batch == 1 or not isinstance(batch, int)) and (channels == 3 or not isinstance(channels, int))


def _choose_outputs(
    path: Path, session: onnxruntime.InferenceSession, spec: NetworkSpec, input_layout: str
) -> dict[str, str]:
    """The layout of each output that is used, by name."""
    ranks = {output.name: len(output.shape) for output in session.get_outputs()}
    listed = ", ".join(f"{output.name} {output.shape}" for output in session.get_outputs())
    layouts = [spec.output_layout] if spec.output_layout else [input_layout, "NTC"]
    wanted = " or ".join(f"{len(layout)}-D" for layout in layouts)
    if spec.outputs is None:
        for layout in layouts:
            if names := [name for name, rank in ranks.items() if rank == len(layout)]:
                return dict.fromkeys(names, layout)
        raise InputError(f"{path} has no {wanted} output to pool, only {listed}; export it without its classifier")
    by_rank = {len(layout): layout for layout in layouts}
    for name in spec.outputs:
        if ranks.get(name) not in by_rank:
            raise InputError(
                f"{path} has no {wanted} output {name!r}, only {listed}; correct the key 'outputs' of "
                f"{str(locate_spec(path))!r}"
            )
    return {name: by_rank[ranks[name]] for name in spec.outputs}


def _infer_patches(path: Path, name: str, n_tokens: int, size: tuple[int, int], spec: NetworkSpec) -> MapOutput:
    """The patch size, and the number of tokens to drop, that give `n_tokens` for an image of a (height, width)."""
    height, width = size
    fitting: list[MapOutput] = []
    for patch_size in PATCH_SIZES if spec.patch_size is None else (spec.patch_size,):
        if height % patch_size or width % patch_size:
            continue
        extra = n_tokens - (height // patch_size) * (width // patch_size)
        if extra == spec.drop_tokens or (spec.drop_tokens is None and 0 <= extra <= MAX_EXTRA_TOKENS):
            fitting.append(MapOutput("NTC", patch_size, extra))
    if len(fitting) != 1:
        several = f"which fits several patch sizes ({', '.join(str(one.patch_size) for one in fitting)})"
        none = "which fits no common patch size" if spec.patch_size is None else f"not in patches of {spec.patch_size}"
        raise InputError(
            f"{path} gives {name} with {n_tokens} tokens for {height} x {width} pixels, "
            f"{several if fitting else none}; {_advise_on_tokens(path)}"
        )
    return fitting[0]


def _advise_on_tokens(path: Path) -> str:
    return f"give 'patch_size' and 'drop_tokens' in {str(locate_spec(path))!r}"
