"""From a photo to the feature maps of a network.

The photo is resized, not padded: its longest side to `size`, then each side to the nearest multiple of `multiple`. So
the cells of a stride-32 map, or the patches of a vision transformer, tile the photo exactly, which pooling assumes.
Padding would spend time on blank cells and add an edge that the photo does not have. A side is stretched by at most
half a multiple: by nothing for a 4:3 photo at 640.

The strided convolutions of EfficientNet-Lite centre the receptive field of a stride-32 cell on the cell's far
corner (31 pixels in, with SAME padding of even sides). Pooling ignores this offset.
"""

import hashlib
import math
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tagsight.errors import InputError
from tagsight.features.network_spec import IMAGENET_MEAN, IMAGENET_SCALE, NetworkSpec, locate_spec
from tagsight.features.onnx_network import OnnxNetwork
from tagsight.storage.files import read_bytes
from tagsight.types import Array

SIZE = 640  # pixels of the longest side, unless the spec or the graph gives a size
MULTIPLE = 32  # unless the spec or the patch size gives another


class FeatureMap(NamedTuple):
    """The features of each cell of a grid that tiles the photo."""

    name: str
    values: Array  # (rows, columns, C) float32


class Backbone:
    """A network from an ONNX file, with the size and the normalisation of its input.

    A float input gets (x - mean) / scale per RGB channel, a uint8 input the pixels as they are. A network that takes
    images of one size gets every photo at that size.
    """

    def __init__(self, path: Path, spec: NetworkSpec | None = None, *, threads: int = 1, identity: str | None = None):
        """Open the network at `path` with a `spec`, or the default one.

        `identity` is a name of the network's content for the fingerprint; None: the hash of the file.
        """
        spec = spec or NetworkSpec()
        content = read_bytes(path)
        self.path = path
        self.mean = spec.mean
        self.scale = spec.scale
        self._tables = _tabulate(spec.mean, spec.scale)
        self._network = OnnxNetwork(path, content, spec, threads=threads)
        self.map_names = tuple(self._network.outputs)
        patch_sizes = [output.patch_size for output in self._network.outputs.values() if output.patch_size]
        self.size = self._network.input.size or spec.size or SIZE
        self.multiple = spec.multiple or (math.lcm(*patch_sizes) if patch_sizes else MULTIPLE)
        self._check_numbers(patch_sizes)
        settings = (identity or hashlib.sha256(content).hexdigest(), self.size, self.multiple, self.mean, self.scale)
        input_layout = self._network.input.layout
        other_layouts = tuple((name, *out) for name, out in self._network.outputs.items() if out.layout != input_layout)
        self.fingerprint = hashlib.sha256(
            repr((*settings, other_layouts) if other_layouts else settings).encode()
        ).hexdigest()

    def maps(self, pixels: Array, names: tuple[str, ...] | None = None, *, zoom: float = 1.0) -> list[FeatureMap]:
        """The named maps (all of them if None) of a photo, RGB (h, w, 3) uint8.

        `zoom` multiplies the size of the network's input: with 0.6, a photo of 640 pixels is reduced to about 384.
        """
        names = self.map_names if names is None else names
        maps = self.forward(self.prepare(pixels, zoom=zoom), names)
        return [FeatureMap(name, values) for name, values in zip(names, maps, strict=True)]

    def prepare(self, pixels: Array, *, zoom: float = 1.0) -> Array:
        """The network's input tensor for a photo: resized, normalised, in the network's layout."""
        resized = self.resize(pixels, zoom=zoom)
        height, width, _ = resized.shape
        dtype = self._network.input.dtype
        tensor = np.empty((1, 3, height, width), np.uint8 if dtype is np.uint8 else np.float32)
        for channel, plane in enumerate(cv2.split(resized)):
            if dtype is np.uint8:
                tensor[0, channel] = plane
            else:
                cv2.LUT(plane, self._tables[channel], tensor[0, channel])
        tensor = tensor.astype(dtype, copy=False)
        return tensor if self._network.input.layout == "NCHW" else np.ascontiguousarray(tensor.transpose(0, 2, 3, 1))

    def resize(self, pixels: Array, *, zoom: float = 1.0) -> Array:
        """(H, W, 3) uint8: a photo at the size of the network's input."""
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or pixels.size == 0:
            raise InputError(f"a photo must be RGB (h, w, 3) uint8, not {pixels.shape} {pixels.dtype}")
        height, width = self.fit_size(*pixels.shape[:2], zoom=zoom)
        shrinks = height * width < pixels.shape[0] * pixels.shape[1]
        return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)

    def forward(self, tensor: Array, names: tuple[str, ...]) -> list[Array]:
        """The named maps, each (rows, columns, C) float32, of an input tensor made by `prepare`."""
        return self._network.run(tensor, names)

    def fit_size(self, height: int, width: int, *, zoom: float = 1.0) -> tuple[int, int]:
        """The (height, width) of the network's input for a photo of the given size."""
        if isinstance(self.size, tuple):
            return self.size
        cells = zoom * self.size / max(height, width) / self.multiple
        rows, columns = max(1, round(height * cells)), max(1, round(width * cells))
        return rows * self.multiple, columns * self.multiple

    def _check_numbers(self, patch_sizes: list[int]) -> None:
        """Raise InputError if the size, the multiple and the patch sizes do not fit each other."""
        if isinstance(self.size, int) and self.size < self.multiple:
            raise InputError(
                f"size {self.size} and multiple {self.multiple} of {self.path} do not fit; "
                "give a size of at least one multiple"
            )
        sides = self.size if isinstance(self.size, tuple) else (self.multiple,)
        for patch_size in patch_sizes:
            if any(side % patch_size for side in sides):
                what = "size" if isinstance(self.size, tuple) else "multiple"
                raise InputError(
                    f"{what} {' x '.join(map(str, sides))} of {self.path} is not in whole patches of {patch_size} "
                    f"pixels; correct {what!r} or 'patch_size' in {str(locate_spec(self.path))!r}"
                )
        if self._network.input.dtype is np.uint8 and (self.mean, self.scale) != (IMAGENET_MEAN, IMAGENET_SCALE):
            raise InputError(
                f"{self.path} takes pixels as uint8, so 'mean' and 'scale' have no effect; remove them from "
                f"{str(locate_spec(self.path))!r}"
            )


def _tabulate(mean: tuple[float, float, float], scale: tuple[float, float, float]) -> Array:
    """(3, 256): the normalised value of each level of each channel."""
    levels = np.arange(256, dtype=np.float32)
    return np.stack([(levels - np.float32(m)) / np.float32(s) for m, s in zip(mean, scale, strict=True)])
