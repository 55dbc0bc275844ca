"""What a model file must hold: type, shape and range of every tensor, type and range of every field of the header.

A file may come from someone else, so its checksum says nothing about its content. Shapes are written in these sizes:

    K_o, K_a, K_b   objects, attributes, free factors       K     all factors
    C               K_o + 1: the objects and background     S     stick sequences
    B               blocks of a region's vector             D     its length, d after projection
    E               example crops                           Z     their bytes

The header gives K_o, K_a, K_b, S and E. The first tensor that has one of the others settles it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tagsight.classifiers.regions import BANDS
from tagsight.classifiers.score import ClassifierWeights
from tagsight.data.collection import RESERVED
from tagsight.features.classic import COMPONENTS, DESCRIPTOR_LENGTH, FISHER_LENGTH
from tagsight.features.photo_features import MAX_REGIONS
from tagsight.model.object_attributes import RAREST, SUREST
from tagsight.model.settings import (
    MAX_FREE,
    NOISES,
    STICK_ORDERS,
    STICK_SPANS,
    STICKS,
    STRONGEST,
    WEAKEST,
    Factors,
    Settings,
    plan_sticks,
)
from tagsight.types import Array

LARGEST = 1e15  # of any number of a tensor, either sign
POSITIVE = 1e-300
LONGEST_TEXT = 10_000  # characters of a word or a path
MOST_WORDS = 50_000
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Tensor(NamedTuple):
    """What is asked of a tensor."""

    dtype: str
    shape: tuple[str | int, ...]
    least: float = -LARGEST
    most: float = LARGEST


TENSORS = {
    "projection.basis": Tensor("float32", ("D", "d")),
    "projection.offset": Tensor("float32", ("d",)),
    "views.ends": Tensor("int64", ("B",), 1),
    "views.directions": Tensor("float64", ("B",), 0),
    "views.strengths": Tensor("float64", ("B",), 0),
    "appearance.mean": Tensor("float64", ("K", "d")),
    "appearance.var": Tensor("float64", ("K",), POSITIVE),
    "scales": Tensor("float64", (2,), POSITIVE),
    "sparsity": Tensor("float64", (2, "S")),
    "affinity": Tensor("float64", ("K", "K")),
    "summary.n_regions": Tensor("float64", (), 1),
    "summary.square": Tensor("float64", (), 0),
    "summary.count": Tensor("float64", ("K",), 0),
    "summary.pair": Tensor("float64", ("K", "K")),
    "summary.photo_pair": Tensor("float64", ("K", "K")),
    "summary.cross": Tensor("float64", ("K", "d")),
    "summary.n_sticks": Tensor("float64", ("S",), 0),
    "summary.log_sticks": Tensor("float64", ("S",)),
    "summary.stick_entropy": Tensor("float64", ()),
    "summary.log_prior": Tensor("float64", ()),
    "summary.assign_entropy": Tensor("float64", ()),
    "summary.agreement": Tensor("float64", ()),
    "example_crops.sizes": Tensor("int64", ("E",), 0, 2**31),
    "example_crops.bytes": Tensor("uint8", ("Z",)),
}
FULL_NOISE_TENSORS = {
    "inverse_shape": Tensor("float64", ("d", "d")),
    "summary.square": Tensor("float64", ("d", "d")),
}
OBJECT_ATTRIBUTE_TENSORS = {
    "object_attributes.probability": Tensor("float64", ("K_o", "K_a"), RAREST, SUREST),
    "object_attributes.effect": Tensor("float64", ("K_a", "d")),
    "object_attributes.weights": Tensor("float64", ("K_a", "d")),
}
PHOTO_PRIOR_TENSORS = {
    "photo_prior.weights": Tensor("float32", ("D", "K_o")),
    "photo_prior.offset": Tensor("float32", ("K_o",)),
}
CLASSIFIER_TENSORS = {
    "classifiers.photo_classifier.weights": Tensor("float32", ("D", "K_o")),
    "classifiers.photo_classifier.offset": Tensor("float32", ("K_o",)),
    "classifiers.objects.weights": Tensor("float32", ("d", "C")),
    "classifiers.objects.offset": Tensor("float32", ("C",)),
    "classifiers.attributes.weights": Tensor("float32", ("d", "K_a")),
    "classifiers.attributes.offset": Tensor("float32", ("K_a",)),
    "classifiers.observed_log_odds": Tensor("float32", ("C", "K_a")),
    "classifiers.prior_log_odds": Tensor("float32", ("C", "K_a")),
    "classifiers.height_prior": Tensor("float32", ("C", BANDS)),
}
CODEBOOK_TENSORS = {
    "codebook.descriptors.basis": Tensor("float32", (384, DESCRIPTOR_LENGTH)),
    "codebook.descriptors.offset": Tensor("float32", (DESCRIPTOR_LENGTH,)),
    "codebook.mixture.weights": Tensor("float32", (COMPONENTS,), 0, 1),
    "codebook.mixture.means": Tensor("float32", (COMPONENTS, DESCRIPTOR_LENGTH)),
    "codebook.mixture.variances": Tensor("float32", (COMPONENTS, DESCRIPTOR_LENGTH), float(np.finfo(np.float32).tiny)),
    "codebook.fisher.basis": Tensor("float16", (2 * COMPONENTS * DESCRIPTOR_LENGTH, FISHER_LENGTH)),
    "codebook.fisher.offset": Tensor("float32", (FISHER_LENGTH,)),
}

# Conditions that one tensor's type, shape and range do not express.
RELATIONS: dict[str, tuple[str, Callable[[Mapping[str, Array]], bool]]] = {
    "views.ends": (
        "must rise to the number of rows of projection.basis",
        lambda t: bool(np.all(np.diff(t["views.ends"]) > 0) and t["views.ends"][-1] == len(t["projection.basis"])),
    ),
    "sparsity": ("must be above 0 in its first row", lambda t: bool(np.all(t["sparsity"][0] >= POSITIVE))),
    "summary.count": (
        "must not exceed summary.n_regions",
        lambda t: bool(np.all(t["summary.count"] <= t["summary.n_regions"] * (1 + 1e-9))),
    ),
    "example_crops.sizes": (
        "must add up to the length of example_crops.bytes",
        lambda t: int(t["example_crops.sizes"].sum()) == len(t["example_crops.bytes"]),
    ),
}

FULL_NOISE_RELATIONS: dict[str, tuple[str, Callable[[Mapping[str, Array]], bool]]] = {
    "inverse_shape": ("must be symmetric and positive definite", lambda t: _is_definite(t["inverse_shape"])),
    "summary.square": (
        "must be symmetric, with no negative number on its diagonal",
        lambda t: _is_symmetric(t["summary.square"]) and bool(np.all(np.diag(t["summary.square"]) >= 0)),
    ),
}


def _is_symmetric(matrix: Array) -> bool:
    return bool(np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * float(np.abs(matrix).max(initial=0.0))))


def _is_definite(matrix: Array) -> bool:
    return _is_symmetric(matrix) and float(np.linalg.eigvalsh(matrix)[0]) > 0


class Field(NamedTuple):
    """What is asked of a field of the header."""

    wanted: str
    fits: Callable[[Any], bool]


def _is_number(value: Any, least: float, most: float) -> bool:
    return type(value) in (int, float) and least <= value <= most  # nan is not


def _is_text(value: Any) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in value)  # what UTF-8 cannot express


def _is_word(value: Any) -> bool:
    return _is_text(value) and not CONTROL.search(value)


def _are_words(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > MOST_WORDS:
        return False
    return all(map(_is_word, value)) and len(set(value)) == len(value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(_is_number(one, -LARGEST, LARGEST) for one in value)


def number(least: float = -LARGEST, most: float = LARGEST) -> Field:
    """A number in a range."""
    return Field(f"a number from {least:g} to {most:g}", lambda value: _is_number(value, least, most))


def whole(least: int, most: int) -> Field:
    """A whole number in a range."""
    return Field(f"a whole number from {least} to {most}", lambda value: type(value) is int and least <= value <= most)


def choice(*choices: str) -> Field:
    """One of some texts."""
    return Field(f"one of {', '.join(choices)}", lambda value: isinstance(value, str) and value in choices)


def optional(field: Field) -> Field:
    """A field that may be null."""
    return Field(f"{field.wanted}, or null", lambda value: value is None or field.fits(value))


FLAG = Field("true or false", lambda value: isinstance(value, bool))
TEXT = Field(f"valid text of 1 to {LONGEST_TEXT} characters", _is_text)
WORDS = Field(f"distinct words of 1 to {LONGEST_TEXT} characters without control characters", _are_words)
NUMBERS = Field("a list of finite numbers", _are_numbers)
SCORES = Field(
    "a list of lists of finite numbers", lambda value: isinstance(value, list) and all(map(_are_numbers, value))
)
HASH = Field(
    "64 hexadecimal digits", lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{64}", value))
)

CALIBRATION = {"slope": number(0), "offset": number(), "error": optional(number(0, 1)), "photo_slope": number(0)}
HEADER = {
    "schema": whole(1, 10**6),
    "objects": WORDS,
    "attributes": WORDS,
    "features": TEXT,
    "fingerprint": optional(HASH),
    "n_regions": whole(1, MAX_REGIONS),
    "photo_effect": number(0, 1),
    "attributes_of": choice("regions", "objects"),
    "photo_prior": optional(number(0)),
    "settings.factors.objects": whole(0, MOST_WORDS),
    "settings.factors.attributes": whole(0, MOST_WORDS),
    "settings.factors.free": whole(0, MAX_FREE),
    "settings.coupling": number(0),
    "settings.affinity": number(0),
    "settings.learn_affinity": FLAG,
    "settings.centred": FLAG,
    "settings.sticks": choice(*STICKS),
    "settings.stick_order": choice(*STICK_ORDERS),
    "settings.stick_span": choice(*STICK_SPANS),
    "settings.sparsity": optional(number(POSITIVE)),
    "settings.passes": whole(1, 1000),
    "settings.noise": choice(*NOISES),
    "settings.exclusive": FLAG,
    "settings.shrinkage": optional(number(WEAKEST, STRONGEST)),
    "settings.attribute_shrinkage": optional(number(WEAKEST, STRONGEST)),
    **{f"calibration.objects.{name}": field for name, field in CALIBRATION.items()},
    **{f"calibration.attributes.{name}": field for name, field in CALIBRATION.items()},
    "example_crops": SCORES,
    "training.n_photos": whole(0, 10**12),
    "training.seed": whole(0, 2**64),
    "training.bound": NUMBERS,
    "training.version": optional(TEXT),
}
NO_CLASSIFIER_HEADER = {"classifiers": Field("null, or what the classifiers need", lambda value: value is None)}
CLASSIFIER_HEADER = {
    **{f"classifiers.weights.{name}": number(0, 100) for name in ClassifierWeights._fields},
    "classifiers.weights.smoothing": number(0, 0.999),
    "classifiers.weights.attribute_distance": number(0, 0.999),
    "classifiers.background": number(0, 1),
    "classifiers.bias": number(),
}


def find_fault(header: dict[str, Any], tensors: Mapping[str, Array]) -> str | None:
    """The first thing that is wrong with the content of a model file, or None."""
    return _check_header(header) or _check_tensors(header, tensors)


def _check_header(header: dict[str, Any]) -> str | None:
    fields = _flatten(header)
    table = HEADER | (NO_CLASSIFIER_HEADER if header.get("classifiers") is None else CLASSIFIER_HEADER)
    for name, field in table.items():
        if name not in fields:
            return f"its header lacks the field {name!r}"
        if not field.fits(fields[name]):
            return f"the field {name!r} of its header must be {field.wanted}, got {_shorten(fields[name])}"
    if unknown := sorted(set(fields) - set(table)):
        return f"its header has the unknown field {_shorten(unknown[0])}"
    if header["settings"]["shrinkage"] is None and header["settings"]["attribute_shrinkage"] is not None:
        return "its header has the field 'settings.attribute_shrinkage' and none for the other factors"
    for kind in ("objects", "attributes"):
        if len(header[kind]) != header["settings"]["factors"][kind]:
            return f"its header has {len(header[kind])} {kind} and settings for {header['settings']['factors'][kind]}"
    both = set(header["objects"]) & set(header["attributes"])
    if wrong := sorted(both) or [word for word in header["objects"] + header["attributes"] if RESERVED.fullmatch(word)]:
        return f"its header has the word {_shorten(wrong[0])}, which is reserved, or both an object and an attribute"
    if not header["objects"] and not header["attributes"]:
        return "its header has neither objects nor attributes"
    if len(header["example_crops"]) != sum(header["settings"]["factors"].values()):
        return "the field 'example_crops' of its header must have one list per factor"
    return None


def _check_tensors(header: dict[str, Any], tensors: Mapping[str, Array]) -> str | None:
    has_classifiers, is_classic = header["classifiers"] is not None, header["features"] == "classic"
    table = TENSORS | (CLASSIFIER_TENSORS if has_classifiers else {}) | (CODEBOOK_TENSORS if is_classic else {})
    relations = RELATIONS
    if header["attributes_of"] == "objects":
        table |= OBJECT_ATTRIBUTE_TENSORS
    if header["photo_prior"] is not None:
        table |= PHOTO_PRIOR_TENSORS
    if header["settings"]["noise"] == "full":
        table |= FULL_NOISE_TENSORS
        relations = RELATIONS | FULL_NOISE_RELATIONS
    if unknown := sorted(set(tensors) - set(table)):
        return f"it has the unknown tensor {_shorten(unknown[0])}"
    sizes = _list_sizes(header)
    for name, wanted in table.items():
        if name not in tensors:
            return f"it lacks the tensor {name!r}"
        if fault := _check_tensor(tensors[name], wanted, sizes):
            return f"the tensor {name!r} {fault}"
    for name, (wanted, holds) in relations.items():
        if not holds(tensors):
            return f"the tensor {name!r} {wanted}"
    return None


def _check_tensor(array: Array, wanted: Tensor, sizes: dict[str, int]) -> str | None:
    if array.dtype != np.dtype(wanted.dtype):
        return f"must be of type {wanted.dtype}, got {array.dtype}"
    if len(array.shape) == len(wanted.shape):
        for size, length in zip(wanted.shape, array.shape, strict=True):
            if isinstance(size, str):
                sizes.setdefault(size, length)
                if size in ("B", "D", "d") and length == 0:
                    return "is empty"
    shape = tuple(sizes.get(size, 0) if isinstance(size, str) else size for size in wanted.shape)
    if array.shape != shape:
        return f"must have shape {shape}, got {array.shape}"
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return "has NaN or infinity in it"
    lowest, highest = (float(array.min()), float(array.max())) if array.size else (wanted.least, wanted.most)
    if lowest < wanted.least or highest > wanted.most:
        return f"must lie between {wanted.least:g} and {wanted.most:g}, got {lowest:g} to {highest:g}"
    return None


def _list_sizes(header: dict[str, Any]) -> dict[str, int]:
    factors = Factors(**header["settings"]["factors"])
    settings = Settings(**{**header["settings"], "factors": factors})
    return {
        "K_o": factors.objects,
        "K_a": factors.attributes,
        "K": factors.total,
        "C": factors.objects + 1,
        "S": plan_sticks(settings).n_sequences,
        "E": sum(len(scores) for scores in header["example_crops"]),
    }


def _flatten(header: dict[str, Any]) -> dict[str, Any]:
    """Fields of records within records, by names such as settings.factors.free."""
    fields: dict[str, Any] = {}
    left = [("", header)]
    while left:
        prefix, record = left.pop()
        for name, value in record.items():
            if "." in name:
                fields[f"{prefix}{name!r}"] = value  # such a name is nobody's
            elif isinstance(value, dict):
                left.append((f"{prefix}{name}.", value))
            else:
                fields[f"{prefix}{name}"] = value
    return fields


def _shorten(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."
