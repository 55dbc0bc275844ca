"""The families of features behind one face, as a recipe that can be stored, sent to a worker and opened."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone
from tagsight.features.classic import BLOCKS as CLASSIC_BLOCKS
from tagsight.features.classic import ClassicCodebook
from tagsight.features.classic import describe_regions as describe_classic
from tagsight.features.deep import DeepSettings, list_blocks
from tagsight.features.deep import describe_regions as describe_deep
from tagsight.features.views import Block
from tagsight.types import Array


class Describer(Protocol):
    """Turns the regions of a photo into vectors."""

    fingerprint: str  # equal fingerprints, equal vectors

    blocks: tuple[Block, ...]  # what a vector is made of

    def describe(self, pixels: Array, labels: Array) -> Array:
        """(R, D) float32 of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
        ...


class Recipe(NamedTuple):
    """What opens a describer."""

    features: str  # deep, classic, or the path of an ONNX backbone
    codebook: ClassicCodebook | None = None  # of classic, once learned


class DeepDescriber:
    """Pooled maps of a network, and colours."""

    def __init__(self, backbone: Backbone, settings: DeepSettings):
        self._backbone = backbone
        self._settings = settings
        self.blocks = list_blocks(backbone, settings)
        self.fingerprint = _hash(f"deep {backbone.fingerprint} {settings} {self.blocks}")

    def describe(self, pixels: Array, labels: Array) -> Array:
        """See `Describer`."""
        return describe_deep(pixels, labels, self._backbone, settings=self._settings)


class ClassicDescriber:
    """Fisher vectors of colour SIFT, and colours."""

    def __init__(self, codebook: ClassicCodebook):
        self._codebook = codebook
        content = b"".join(array.tobytes() for array in codebook.arrays().values())
        self.fingerprint = _hash(f"classic {sha256(content).hexdigest()}")
        self.blocks = CLASSIC_BLOCKS

    def describe(self, pixels: Array, labels: Array) -> Array:
        """See `Describer`."""
        return describe_classic(pixels, labels, self._codebook)


def open_describer(recipe: Recipe) -> Describer:
    """The describer of a recipe; a path must be an ONNX file."""
    if recipe.features == "deep":
        return DeepDescriber(Backbone.builtin(), DeepSettings())
    if recipe.features == "classic":
        if recipe.codebook is None:
            raise InputError("classic features need a codebook: learn it from the training photos first")
        return ClassicDescriber(recipe.codebook)
    path = Path(recipe.features)
    if not path.is_file():
        raise InputError(f"features must be deep, classic or an ONNX file, and {str(path)!r} is none")
    backbone = Backbone(path)
    return DeepDescriber(backbone, DeepSettings.for_every_map(backbone))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
