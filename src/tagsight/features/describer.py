"""The families of features behind one face, as a recipe that can be stored, sent to a worker and opened."""

import json
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

NETWORKS = {"deep": "lite2", "deep-small": "lite0"}  # features of a built-in network, and its name in BUILTIN
FAMILIES = (*NETWORKS, "classic")  # of features; anything else is the path of a network


class Describer(Protocol):
    """Turns the regions of a photo into vectors."""

    fingerprint: str  # equal fingerprints, equal vectors; the same on every machine, with every version of libraries

    blocks: tuple[Block, ...]  # what a vector is made of

    def describe(self, pixels: Array, labels: Array) -> Array:
        """(R, D) float32 of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
        ...


class Recipe(NamedTuple):
    """What opens a describer. That of a trained model opens only the one the model was trained with."""

    features: str  # one of FAMILIES, or the path of an ONNX backbone
    codebook: ClassicCodebook | None = None  # of classic, once learned
    fingerprint: str | None = None  # that the describer must have; None: any
    length: int | None = None  # that a region's vector must have; None: any


class DeepDescriber:
    """Pooled maps of a network, and colours."""

    def __init__(self, backbone: Backbone, settings: DeepSettings):
        self._backbone = backbone
        self._settings = settings
        self.blocks = list_blocks(backbone, settings)
        self.fingerprint = _hash(json.dumps(["deep", backbone.fingerprint, settings, self.blocks]))

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


def pin_recipe(recipe: Recipe) -> Recipe:
    """The recipe that opens, from any folder, what `recipe` opens now, and nothing else."""
    if recipe.features not in FAMILIES:
        recipe = recipe._replace(features=str(Path(recipe.features).absolute()))
        try:
            recipe.features.encode()
        except UnicodeEncodeError as problem:
            raise InputError(f"the path {recipe.features!r} is not valid Unicode text; rename the file") from problem
    describer = open_describer(recipe)
    return recipe._replace(fingerprint=describer.fingerprint, length=_measure(describer))


def open_describer(recipe: Recipe) -> Describer:
    """The describer of a recipe; a path must be an ONNX file. InputError if it is not the one the recipe is for."""
    describer = _open(recipe)
    if recipe.fingerprint not in (None, describer.fingerprint):
        what = "the built-in network" if recipe.features in FAMILIES else repr(recipe.features)
        remedy = "install the tagsight it was trained with" if recipe.features in FAMILIES else "restore that file"
        raise InputError(f"{what} is not the network that the model was trained with; {remedy}, or train again")
    if recipe.length not in (None, _measure(describer)):
        raise InputError(
            f"the model is for vectors of {recipe.length} numbers, and {recipe.features!r} gives "
            f"{_measure(describer)}; train again"
        )
    return describer


def _open(recipe: Recipe) -> Describer:
    if network := NETWORKS.get(recipe.features):
        return DeepDescriber(Backbone.builtin(network), DeepSettings())
    if recipe.features == "classic":
        if recipe.codebook is None:
            raise InputError("classic features need a codebook: learn it from the training photos first")
        return ClassicDescriber(recipe.codebook)
    path = Path(recipe.features)
    if not path.is_file():
        if recipe.fingerprint is not None:
            raise InputError(f"the network {str(path)!r} that the model was trained with is missing; restore that file")
        raise InputError(f"features must be {', '.join(FAMILIES)} or an ONNX file, and {str(path)!r} is none")
    backbone = Backbone(path)
    return DeepDescriber(backbone, DeepSettings.for_every_map(backbone))


def _measure(describer: Describer) -> int:
    """Length of a vector."""
    return sum(block.length for block in describer.blocks)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
