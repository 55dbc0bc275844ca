"""How an ONNX network takes photos and gives maps, and the JSON file beside the network that describes it.

`net.json` beside `net.onnx` is an object. Every key is optional and named as the field of `NetworkSpec` that it sets.
Fields that are not set are read from the graph when the network is opened (`backbone`).
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.jsonvalues import is_list, is_object
from tagsight.data.textfiles import read_json
from tagsight.errors import InputError

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_SCALE = (58.395, 57.12, 57.375)
MAX_SIZE = 4096  # pixels of a side of the network's input
MAX_TOKENS = 1024  # that may be dropped
LARGEST = 1e6  # of a number of `mean` or `scale`
IMAGE_AXES = {"NCHW": (1, 2, 3), "NHWC": (3, 1, 2)}  # layout: axes of channels, rows and columns
OUTPUT_LAYOUTS = (*IMAGE_AXES, "NTC")


class NetworkSpec(NamedTuple):
    """How a network takes photos and gives maps; None: read from the graph.

    The network's input is (x - mean) / scale per channel, red, green and blue, with x from 0 to 255.
    """

    mean: tuple[float, float, float] = IMAGENET_MEAN
    scale: tuple[float, float, float] = IMAGENET_SCALE
    size: int | tuple[int, int] | None = None  # longest side, or (height, width) of every photo, in pixels; None: 640
    multiple: int | None = None  # sides are multiples of it; None: the patch size, or 32 without one
    input_layout: str | None = None  # one of IMAGE_AXES
    output_layout: str | None = None  # one of OUTPUT_LAYOUTS; NTC: tokens (1, T, C)
    outputs: tuple[str, ...] | None = None  # None: every 4-D output, or every 3-D one where there is no 4-D one
    patch_size: int | None = None  # pixels of a side of a token's patch
    drop_tokens: int | None = None  # leading tokens that are no patches: class and register tokens


class _Key(NamedTuple):
    wanted: str
    fits: Callable[[Any], bool]


def locate_spec(network: Path) -> Path:
    """The path of the JSON file of a network."""
    return network.with_suffix(".json")


def read_spec(network: Path) -> NetworkSpec:
    """The spec in the JSON file beside a `network`; the default one if there is no such file."""
    path = locate_spec(network)
    if path == network or not path.exists():
        return NetworkSpec()
    content = read_json(path)
    if not is_object(content):
        raise InputError(f'{str(path)!r} is not a JSON object; write it as {{"size": 518}}, or remove it')
    for key, value in content.items():
        if key not in _KEYS:
            raise InputError(f"{str(path)!r} has the unknown key {key!r}; the keys are {', '.join(_KEYS)}")
        if not _KEYS[key].fits(value):
            raise InputError(f"the key {key!r} of {str(path)!r} is {value!r}; it must be {_KEYS[key].wanted}")
    fields: dict[str, Any] = {key: tuple(value) if is_list(value) else value for key, value in content.items()}
    spec = NetworkSpec(**fields)
    if max(spec.scale) < 1:
        raise InputError(
            f"the key 'scale' of {str(path)!r} is {list(spec.scale)}, which is for pixels from 0 to 1; "
            "multiply 'mean' and 'scale' by 255"
        )
    return spec


def _is_number(value: Any, least: float) -> bool:
    return type(value) in (int, float) and least <= value <= LARGEST


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_triple(value: Any, least: float) -> bool:
    return is_list(value) and len(value) == 3 and all(_is_number(one, least) for one in value)


def _is_size(value: Any) -> bool:
    if is_list(value):
        return len(value) == 2 and all(_is_whole(side, 1, MAX_SIZE) for side in value)
    return _is_whole(value, 1, MAX_SIZE)


def _are_names(value: Any) -> bool:
    return is_list(value) and 0 < len(value) == len({*map(str, value)}) and all(isinstance(one, str) for one in value)


def _is_choice(value: Any, choices: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in choices


def _whole(least: int, most: int) -> _Key:
    return _Key(f"a whole number from {least} to {most}", partial(_is_whole, least=least, most=most))


def _choice(choices: tuple[str, ...]) -> _Key:
    return _Key(f"one of {', '.join(choices)}", partial(_is_choice, choices=choices))


_KEYS = {
    "mean": _Key(f"a list of three numbers from {-LARGEST:g} to {LARGEST:g}", partial(_is_triple, least=-LARGEST)),
    "scale": _Key(f"a list of three numbers from 1e-06 to {LARGEST:g}", partial(_is_triple, least=1e-6)),
    "size": _Key(f"a whole number from 1 to {MAX_SIZE}, or a list [height, width] of two", _is_size),
    "multiple": _whole(1, MAX_SIZE),
    "input_layout": _choice(tuple(IMAGE_AXES)),
    "output_layout": _choice(OUTPUT_LAYOUTS),
    "outputs": _Key("a list of distinct names of outputs", _are_names),
    "patch_size": _whole(1, MAX_SIZE),
    "drop_tokens": _whole(0, MAX_TOKENS),
}
