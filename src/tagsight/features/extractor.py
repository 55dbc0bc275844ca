"""The families of features behind one face, as a recipe that can be stored, sent to a worker and opened."""

import json
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone
from tagsight.features.classic import BLOCKS as CLASSIC_BLOCKS
from tagsight.features.classic import ClassicCodebook
from tagsight.features.classic import extract_regions as extract_classic
from tagsight.features.deep import DeepSettings, list_blocks
from tagsight.features.deep import extract_regions as extract_deep
from tagsight.features.efficientnet import open_builtin
from tagsight.features.network_spec import read_spec
from tagsight.features.views import Block
from tagsight.types import Array

NETWORKS = {"deep": "lite2", "deep-small": "lite0"}  # features of a built-in network, and its name
FAMILIES = (*NETWORKS, "classic")  # of features; anything else is the path of a network


class FeatureExtractor(Protocol):
    """Turns the regions of a photo into vectors."""

    fingerprint: str  # equal fingerprints, equal vectors; the same on every machine, with every version of libraries

    blocks: tuple[Block, ...]  # what a vector is made of

    def extract(self, pixels: Array, labels: Array) -> Array:
        """(R, D) float32 of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
        ...


class ExtractorConfig(NamedTuple):
    """What opens a describer. That of a trained model opens only the one the model was trained with."""

    features: str  # one of FAMILIES, or the path of an ONNX backbone
    codebook: ClassicCodebook | None = None  # of classic, once learned
    fingerprint: str | None = None  # that the describer must have; None: any
    length: int | None = None  # that a region's vector must have; None: any


class DeepExtractor:
    """Pooled maps of a network, and colours."""

    def __init__(self, backbone: Backbone, settings: DeepSettings):
        self._backbone = backbone
        self._settings = settings
        self.blocks = list_blocks(backbone, settings)
        self.fingerprint = _hash(json.dumps(["deep", backbone.fingerprint, settings, self.blocks]))

    def extract(self, pixels: Array, labels: Array) -> Array:
        """See `FeatureExtractor`."""
        return extract_deep(pixels, labels, self._backbone, settings=self._settings)


class ClassicExtractor:
    """Fisher vectors of colour SIFT, and colours."""

    def __init__(self, codebook: ClassicCodebook):
        self._codebook = codebook
        content = b"".join(array.tobytes() for array in codebook.arrays().values())
        self.fingerprint = _hash(f"classic {sha256(content).hexdigest()}")
        self.blocks = CLASSIC_BLOCKS

    def extract(self, pixels: Array, labels: Array) -> Array:
        """See `FeatureExtractor`."""
        return extract_classic(pixels, labels, self._codebook)


def pin_extractor(extractor_config: ExtractorConfig) -> ExtractorConfig:
    """The configuration that opens, from any folder, the extractor that `extractor_config` opens now, and no other."""
    if extractor_config.features not in FAMILIES:
        extractor_config = extractor_config._replace(features=_make_absolute(Path(extractor_config.features)))
    extractor = open_extractor(extractor_config)
    return extractor_config._replace(fingerprint=extractor.fingerprint, length=_measure(extractor))


def relocate_network(extractor_config: ExtractorConfig, path: Path) -> ExtractorConfig:
    """The configuration with the same network at another `path`.

    Raises InputError if the features need no network file, or if the file at `path` is another network.
    """
    if extractor_config.features in FAMILIES:
        raise InputError(
            f"the model was trained with the built-in features {extractor_config.features!r}, and {str(path)!r} was "
            "given as its backbone; leave the backbone out"
        )
    if not path.is_file():
        raise InputError(f"there is no backbone {str(path)!r}; give the path of an ONNX file")
    relocated = extractor_config._replace(features=_make_absolute(path))
    open_extractor(relocated)
    return relocated


def _make_absolute(path: Path) -> str:
    absolute = str(path.absolute())
    try:
        absolute.encode()
    except UnicodeEncodeError as problem:
        raise InputError(f"the path {absolute!r} is not valid Unicode text; rename the file") from problem
    return absolute


def open_extractor(extractor_config: ExtractorConfig) -> FeatureExtractor:
    """The describer of a recipe; a path must be an ONNX file. InputError if it is not the one the recipe is for."""
    extractor = _open(extractor_config)
    if extractor_config.fingerprint not in (None, extractor.fingerprint):
        what = "the built-in network" if extractor_config.features in FAMILIES else repr(extractor_config.features)
        remedy = (
            "install the tagsight it was trained with"
            if extractor_config.features in FAMILIES
            else "give the path of that network with --backbone"
        )
        raise InputError(f"{what} is not the network that the model was trained with; {remedy}, or train again")
    if extractor_config.length not in (None, _measure(extractor)):
        raise InputError(
            f"the model is for vectors of {extractor_config.length} numbers, and {extractor_config.features!r} gives "
            f"{_measure(extractor)}; train again"
        )
    return extractor


def _open(extractor_config: ExtractorConfig) -> FeatureExtractor:
    if network := NETWORKS.get(extractor_config.features):
        return DeepExtractor(open_builtin(network), DeepSettings())
    if extractor_config.features == "classic":
        if extractor_config.codebook is None:
            raise InputError("classic features need a codebook: learn it from the training photos first")
        return ClassicExtractor(extractor_config.codebook)
    path = Path(extractor_config.features)
    if not path.is_file():
        if extractor_config.fingerprint is not None:
            raise InputError(
                f"the network {str(path)!r} that the model was trained with is missing; "
                "give its present path with --backbone"
            )
        raise InputError(f"features must be {', '.join(FAMILIES)} or an ONNX file, and {str(path)!r} is none")
    backbone = Backbone(path, read_spec(path))
    return DeepExtractor(backbone, DeepSettings.for_every_map(backbone))


def _measure(extractor: FeatureExtractor) -> int:
    """Length of a vector."""
    return sum(block.length for block in extractor.blocks)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
