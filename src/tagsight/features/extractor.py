"""Feature extractors: from the regions of a photo to vectors.

`deep` features are maps of a network averaged over each region, beside the region's colours. The vector is

    [pooled map 1, pooled map 2, ..., sqrt(Lab histogram)],

not normalised (`transforms` weighs the blocks). The square root of a histogram has unit length, and the Euclidean
distance between such roots is the Hellinger distance between the histograms. Networks are trained to ignore colour
where classes do; colour words need the histogram. Maps may be computed at different sizes of the photo: fine maps
locate boundaries, coarse ones, in which objects have the size the network was trained on, recognise objects.

`classic` features are in `classic`. An `ExtractorConfig` describes an extractor: it can be stored, sent to another
process, and opened there.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.features import classic
from tagsight.features.backbone import Backbone, FeatureMap
from tagsight.features.classic import ClassicCodebook
from tagsight.features.efficientnet import open_builtin
from tagsight.features.network_spec import read_spec
from tagsight.features.pooling import Interpolation, compute_cell_weights, compute_colour_histograms, pool_map
from tagsight.features.transforms import Block
from tagsight.types import Array

NETWORKS = {"deep": "lite2", "deep-small": "lite0"}  # names of features: the built-in network that they come from
FAMILIES = (*NETWORKS, "classic")  # names of features; anything else is the path of a network


class FeatureExtractor(Protocol):
    """Computes the vectors of the regions of a photo."""

    fingerprint: str  # equal fingerprints mean equal vectors, on every machine and with every version of the libraries
    blocks: tuple[Block, ...]  # of a vector, in order

    def extract(self, pixels: Array, labels: Array) -> Array:
        """(R, D) float32 vectors of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
        ...


class ExtractorConfig(NamedTuple):
    """The description of an extractor. If it was stored with a model, it opens only the extractor of that model."""

    features: str  # one of FAMILIES, or the path of an ONNX network
    codebook: ClassicCodebook | None = None  # of classic features, once it is learned
    fingerprint: str | None = None  # that the extractor must have; None: any
    length: int | None = None  # that a region's vector must have; None: any


class MapUse(NamedTuple):
    """How a map of the network is used."""

    name: str
    direction_weight: float = 1.0  # see `transforms`
    strength_weight: float = 1.0
    zoom: float = 1.0  # multiplies the size of the network's input; below 1 the photo is reduced


class DeepSettings(NamedTuple):
    """The blocks of a region's vector, and their weights. The defaults are for the built-in networks."""

    maps: tuple[MapUse, ...] = (MapUse("s16", 0.7, 0.5), MapUse("s32"), MapUse("head", 0.3, 1.0, zoom=0.6))
    interpolation: Interpolation = "bilinear"
    colour_weight: float = 0.5
    colour_bins: int = 8
    colour_soft: bool = True

    @classmethod
    def for_every_map(cls, backbone: Backbone) -> Self:
        """Settings for a network of the user: all its maps, equally weighted."""
        return cls(maps=tuple(MapUse(name) for name in backbone.map_names))


DEFAULTS = DeepSettings()


class DeepExtractor:
    """Maps of a network averaged over regions, and colours."""

    def __init__(self, backbone: Backbone, settings: DeepSettings):
        self._backbone = backbone
        self._settings = settings
        self.blocks = list_blocks(backbone, settings)
        self.fingerprint = _hash(json.dumps(["deep", backbone.fingerprint, settings, self.blocks]))

    def extract(self, pixels: Array, labels: Array) -> Array:
        """See `FeatureExtractor`."""
        return extract_regions(pixels, labels, self._backbone, settings=self._settings)


class ClassicExtractor:
    """Fisher vectors of colour SIFT, and colours."""

    def __init__(self, codebook: ClassicCodebook):
        self._codebook = codebook
        content = b"".join(array.tobytes() for array in codebook.arrays().values())
        self.fingerprint = _hash(f"classic {sha256(content).hexdigest()}")
        self.blocks = classic.BLOCKS

    def extract(self, pixels: Array, labels: Array) -> Array:
        """See `FeatureExtractor`."""
        return classic.extract_regions(pixels, labels, self._codebook)


def pin_extractor(extractor_config: ExtractorConfig) -> ExtractorConfig:
    """The configuration that opens, from any folder, the extractor that `extractor_config` opens now, and no other."""
    if extractor_config.features not in FAMILIES:
        extractor_config = extractor_config._replace(features=_make_absolute(Path(extractor_config.features)))
    extractor = open_extractor(extractor_config)
    return extractor_config._replace(fingerprint=extractor.fingerprint, length=_sum_lengths(extractor))


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


def open_extractor(extractor_config: ExtractorConfig) -> FeatureExtractor:
    """The extractor of a configuration; InputError if it differs from the one the configuration was pinned to."""
    features = extractor_config.features
    extractor = _open(extractor_config)
    if extractor_config.fingerprint not in (None, extractor.fingerprint):
        if features in FAMILIES:
            what, remedy = "the built-in network", "install the tagsight it was trained with"
        else:
            what, remedy = repr(features), "give the path of that network with --backbone"
        raise InputError(f"{what} is not the network that the model was trained with; {remedy}, or train again")
    if extractor_config.length not in (None, _sum_lengths(extractor)):
        raise InputError(
            f"the model is for vectors of {extractor_config.length} numbers, and {features!r} gives "
            f"{_sum_lengths(extractor)}; train again"
        )
    return extractor


def extract_regions(pixels: Array, labels: Array, backbone: Backbone, *, settings: DeepSettings = DEFAULTS) -> Array:
    """(R, D) float32 deep vectors of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
    if pixels.shape[:2] != labels.shape:
        raise InputError(f"pixels {pixels.shape} and labels {labels.shape} are not of one photo")
    pooled = _pool_maps(_compute_maps(pixels, backbone, settings), labels, settings)
    colours = compute_colour_histograms(pixels, labels, bins=settings.colour_bins, soft=settings.colour_soft)
    return np.hstack([*pooled, np.sqrt(colours)])


def list_blocks(backbone: Backbone, settings: DeepSettings = DEFAULTS) -> tuple[Block, ...]:
    """The blocks of a deep vector, in order."""
    maps = _compute_maps(np.zeros((24, 32, 3), np.uint8), backbone, settings)  # 4:3, as most photos are
    uses = zip(maps, settings.maps, strict=True)
    return (
        *(Block(found.values.shape[2], use.direction_weight, use.strength_weight) for found, use in uses),
        Block(settings.colour_bins**3, settings.colour_weight, 1.0),
    )


def _compute_maps(pixels: Array, backbone: Backbone, settings: DeepSettings) -> list[FeatureMap]:
    """Maps in the order of the settings; the network runs once per zoom."""
    found: dict[str, FeatureMap] = {}
    for zoom in dict.fromkeys(use.zoom for use in settings.maps):
        names = tuple(use.name for use in settings.maps if use.zoom == zoom)
        found.update(zip(names, backbone.maps(pixels, names, zoom=zoom), strict=True))
    return [found[use.name] for use in settings.maps]


def _pool_maps(maps: list[FeatureMap], labels: Array, settings: DeepSettings) -> list[Array]:
    """The maps averaged over the regions; cell weights are computed once per grid."""
    weights: dict[tuple[int, int], sparse.csr_array] = {}
    blocks: list[Array] = []
    for feature_map in maps:
        rows, columns, _ = feature_map.values.shape
        if (rows, columns) not in weights:
            weights[rows, columns] = compute_cell_weights(labels, rows, columns, interpolation=settings.interpolation)
        blocks.append(pool_map(feature_map.values, weights[rows, columns]))
    return blocks


def _open(extractor_config: ExtractorConfig) -> FeatureExtractor:
    if network := NETWORKS.get(extractor_config.features):
        return DeepExtractor(open_builtin(network), DeepSettings())
    if extractor_config.features == "classic":
        if extractor_config.codebook is None:
            raise InputError("classic features need a codebook; learn it from the training photos first")
        return ClassicExtractor(extractor_config.codebook)
    path = Path(extractor_config.features)
    if not path.is_file():
        if extractor_config.fingerprint is not None:
            raise InputError(
                f"the network {str(path)!r} that the model was trained with is missing; "
                "give its present path with --backbone"
            )
        raise InputError(f"features {str(path)!r} are unknown; give {', '.join(FAMILIES)} or the path of an ONNX file")
    backbone = Backbone(path, read_spec(path))
    return DeepExtractor(backbone, DeepSettings.for_every_map(backbone))


def _make_absolute(path: Path) -> str:
    absolute = str(path.absolute())
    try:
        absolute.encode()
    except UnicodeEncodeError as problem:
        raise InputError(f"the path {absolute!r} is not valid Unicode text; rename the file") from problem
    return absolute


def _sum_lengths(extractor: FeatureExtractor) -> int:
    """The length of a vector."""
    return sum(block.length for block in extractor.blocks)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
