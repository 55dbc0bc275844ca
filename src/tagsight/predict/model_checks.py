"""Checks that the content of a model file is consistent: shapes and ranges of arrays, numbers, the vocabulary.

A file may come from someone else, so its checksum proves nothing about its content. Types and names are checked by the
codec (`storage.records`). Shapes are written in these sizes:

K_o, K_a, K_b   objects, attributes, free factors       K   all factors
C               K_o + 1: background and the objects     S   stick sequences
B               blocks of a region's features           F   length of the features, D after projection

K_o, K_a, K_b and S follow from the vocabulary and the settings. Each other size is that of the first array that has it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tagsight.classifiers.photo_prior import LARGEST_SIZE, SMALLEST_SIZE
from tagsight.classifiers.regions import BANDS
from tagsight.classifiers.smoothing import MAX_SMOOTHING
from tagsight.data.collection import RESERVED
from tagsight.data.jsonvalues import is_list, is_object
from tagsight.data.vocabulary import Vocabulary
from tagsight.features.classic import COMPONENTS, DESCRIPTOR_LENGTH, FISHER_LENGTH
from tagsight.features.photo_features import MAX_REGIONS
from tagsight.model.object_attributes import RAREST, SUREST
from tagsight.model.settings import (
    MAX_FREE,
    MAX_SHRINKAGE,
    MIN_SHRINKAGE,
    NOISES,
    STICK_ORDERS,
    STICK_SPANS,
    STICKS,
    plan_sticks,
)
from tagsight.predict.trained_model import TrainedModel
from tagsight.storage.records import encode_record, shorten
from tagsight.types import Array

LARGEST = 1e15  # of any number, either sign
POSITIVE = 1e-300
LONGEST_TEXT = 10_000  # characters of a word or a path
MOST_WORDS = 50_000
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Tensor(NamedTuple):
    """The required type, shape and range of an array."""

    dtype: str
    shape: tuple[str | int, ...]
    least: float = -LARGEST
    most: float = LARGEST


def _under(prefix: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in table.items()}


STATE, SUMMARY = "predictor.parts.learned.state", "predictor.parts.learned.summary"
SETTINGS, CLASSIFIERS = "predictor.parts.learned.settings", "predictor.parts.classifiers"
TENSORS: dict[str, Tensor] = {
    **_under(
        "predictor.embedding",
        {
            "projection.basis": Tensor("float32", ("F", "D")),
            "projection.offset": Tensor("float32", ("D",)),
            "views.ends": Tensor("int64", ("B",), 1),
            "views.directions": Tensor("float64", ("B",), 0),
            "views.strengths": Tensor("float64", ("B",), 0),
        },
    ),
    **_under(
        STATE,
        {
            "appearance.mean": Tensor("float64", ("K", "D")),
            "appearance.var": Tensor("float64", ("K",), POSITIVE),
            "sparsity.mean": Tensor("float64", ("S",), POSITIVE),
            "sparsity.log_mean": Tensor("float64", ("S",)),
            "affinity": Tensor("float64", ("K", "K")),
            "inverse_shape": Tensor("float64", ("noise", "noise")),
        },
    ),
    **_under(
        SUMMARY,
        {
            "square": Tensor("float64", ("D", "D")),
            "count": Tensor("float64", ("K",), 0),
            "pair": Tensor("float64", ("K", "K")),
            "photo_pair": Tensor("float64", ("K", "K")),
            "cross": Tensor("float64", ("K", "D")),
            "n_sticks": Tensor("float64", ("S",), 0),
            "log_sticks": Tensor("float64", ("S",)),
        },
    ),
    **_under(
        "predictor.parts.object_attributes",
        {
            "probability": Tensor("float64", ("K_o", "K_a"), RAREST, SUREST),
            "effect": Tensor("float64", ("K_a", "D")),
            "weights": Tensor("float64", ("K_a", "D")),
        },
    ),
    **_under(
        "predictor.parts.photo_prior",
        {
            "weights": Tensor("float32", ("F", "K_o")),
            "offset": Tensor("float32", ("K_o",)),
            "size": Tensor("float32", ("K_o",), SMALLEST_SIZE, LARGEST_SIZE),
        },
    ),
    **_under(
        CLASSIFIERS,
        {
            "photo_classifier.weights": Tensor("float32", ("F", "K_o")),
            "photo_classifier.offset": Tensor("float32", ("K_o",)),
            "objects.weights": Tensor("float32", ("D", "C")),
            "objects.offset": Tensor("float32", ("C",)),
            "attributes.regions.weights": Tensor("float32", ("D", "K_a")),
            "attributes.regions.offset": Tensor("float32", ("K_a",)),
            "attributes.observed_log_odds": Tensor("float32", ("C", "K_a")),
            "attributes.prior_log_odds": Tensor("float32", ("C", "K_a")),
            "height_prior": Tensor("float32", ("C", BANDS)),
        },
    ),
    **_under(
        "extractor_config.codebook",
        {
            "descriptors.basis": Tensor("float32", (384, DESCRIPTOR_LENGTH)),
            "descriptors.offset": Tensor("float32", (DESCRIPTOR_LENGTH,)),
            "mixture.weights": Tensor("float32", (COMPONENTS,), 0, 1),
            "mixture.means": Tensor("float32", (COMPONENTS, DESCRIPTOR_LENGTH)),
            "mixture.variances": Tensor("float32", (COMPONENTS, DESCRIPTOR_LENGTH), float(np.finfo(np.float32).tiny)),
            "fisher.basis": Tensor("float16", (2 * COMPONENTS * DESCRIPTOR_LENGTH, FISHER_LENGTH)),
            "fisher.offset": Tensor("float32", (FISHER_LENGTH,)),
        },
    ),
}

NUMBERS: dict[str, tuple[float, float]] = {
    "n_regions": (1, MAX_REGIONS),
    "predictor.embedding.views.photo_effect": (0, 1),
    "predictor.parts.photo_prior.strength": (0, LARGEST),
    "predictor.parts.smoothing": (0, MAX_SMOOTHING),
    **_under(STATE, {"scales.noise": (POSITIVE, LARGEST), "scales.appearance": (POSITIVE, LARGEST)}),
    **_under(SUMMARY, {"n_regions": (1, LARGEST), "square": (0, LARGEST)}),
    **_under(
        SETTINGS,
        {
            "factors.objects": (0, MOST_WORDS),
            "factors.attributes": (0, MOST_WORDS),
            "factors.free": (0, MAX_FREE),
            "coupling": (0, LARGEST),
            "affinity": (0, LARGEST),
            "sparsity": (POSITIVE, LARGEST),
            "passes": (1, 1000),
            "shrinkage": (MIN_SHRINKAGE, MAX_SHRINKAGE),
            "attribute_shrinkage": (MIN_SHRINKAGE, MAX_SHRINKAGE),
        },
    ),
    **_under(
        CLASSIFIERS,
        {
            **{f"weights.{name}": (0, 100) for name in ("model", "attribute_likelihood", "height")},
            **{f"weights.{name}": (0, 100) for name in ("photo_classifier", "attribute_prior")},
            "weights.smoothing": (0, MAX_SMOOTHING),
            "weights.attribute_distance": (0, 0.999),
            "background": (0, 1),
        },
    ),
    **{
        f"predictor.calibration.{kind}.{name}": limits
        for kind in ("objects", "attributes")
        for name, limits in {"slope": (0, LARGEST), "error": (0, 1), "photo_slope": (0, LARGEST)}.items()
    },
    "training.n_photos": (0, 10**12),
    "training.seed": (0, 2**64),
}
CHOICES: dict[str, tuple[str, ...]] = _under(
    SETTINGS, {"sticks": STICKS, "stick_order": STICK_ORDERS, "stick_span": STICK_SPANS, "noise": NOISES}
)


def find_fault(model: TrainedModel) -> str | None:
    """The first value in a model that is out of range or inconsistent with the rest; None if there is none."""
    header, tensors = encode_record(model)
    return (
        _check_vocabulary(model.vocabulary)
        or _check_header(header)
        or _check_settings(model)
        or _check_tensors(model, tensors)
        or _check_relations(model)
    )


def _check_vocabulary(vocabulary: Vocabulary) -> str | None:
    for kind, words in vocabulary._asdict().items():
        fits = len(words) <= MOST_WORDS and len(set(words)) == len(words) and all(map(_is_word, words))
        if not fits:
            wanted = f"distinct words of 1 to {LONGEST_TEXT} characters without control characters"
            return f"the field 'vocabulary.{kind}' of its header must be {wanted}, got {shorten(list(words))}"
    both = sorted(set(vocabulary.objects) & set(vocabulary.attributes))
    if wrong := both or [word for word in vocabulary.names if RESERVED.fullmatch(word)]:
        return f"its header has the word {shorten(wrong[0])}, which is reserved, or both an object and an attribute"
    return None if vocabulary.names else "its header has neither objects nor attributes"


def _is_word(word: str) -> bool:
    return 0 < len(word) <= LONGEST_TEXT and not CONTROL.search(word)


def _check_header(header: dict[str, Any]) -> str | None:
    """Check ranges of numbers, choices, and lengths of texts."""
    for name, value in flatten(header):
        if isinstance(value, str):
            choices = CHOICES.get(name)
            if choices and value not in choices:
                return f"the field {name!r} of its header must be one of {', '.join(choices)}, got {shorten(value)}"
            if not 0 < len(value) <= LONGEST_TEXT:
                return f"the field {name!r} of its header must have 1 to {LONGEST_TEXT} characters, got {len(value)}"
        elif isinstance(value, int | float) and not isinstance(value, bool):
            least, most = NUMBERS.get(name, (-LARGEST, LARGEST))
            if not least <= value <= most:
                return f"the field {name!r} of its header must lie between {least:g} and {most:g}, got {shorten(value)}"
    return None


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Fields of nested records, by names such as `n_regions` or `training.bound.3`."""
    if is_object(value) or is_list(value):
        items = value.items() if is_object(value) else enumerate(value)
        for key, item in items:
            yield from flatten(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _check_settings(model: TrainedModel) -> str | None:
    """Check that settings, vocabulary, example crops and extractor are consistent."""
    settings = model.predictor.parts.learned.settings
    if settings.shrinkage is None and settings.attribute_shrinkage is not None:
        return f"its header has the field '{SETTINGS}.attribute_shrinkage' and none for the other factors"
    for kind in ("objects", "attributes"):
        n_words, n_factors = len(getattr(model.vocabulary, kind)), getattr(settings.factors, kind)
        if n_words != n_factors:
            return f"its header has {n_words} {kind} and settings for {n_factors}"
    if len(model.example_crops) != settings.factors.total:
        return "the field 'example_crops' of its header must have one list per factor"
    fingerprint = model.extractor_config.fingerprint
    if fingerprint is not None and not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
        wanted = "64 hexadecimal digits"
        return f"the field 'extractor_config.fingerprint' of its header must be {wanted}, got {shorten(fingerprint)}"
    if (model.extractor_config.codebook is not None) != (model.extractor_config.features == "classic"):
        return "the field 'extractor_config.codebook' of its header must be there for classic features, and only then"
    return None


def _check_tensors(model: TrainedModel, tensors: Mapping[str, Array]) -> str | None:
    settings = model.predictor.parts.learned.settings
    factors = settings.factors
    sizes = {
        "K_o": factors.objects,
        "K_a": factors.attributes,
        "K": factors.total,
        "C": factors.objects + 1,
        "S": plan_sticks(settings).n_sequences,
        "noise": model.predictor.embedding.projection.offset.size if settings.noise == "full" else 0,
    }
    for name, wanted in TENSORS.items():
        if name in tensors and (fault := _check_tensor(tensors[name], wanted, sizes)):
            return f"the tensor {name!r} {fault}"
    if model.extractor_config.length != sizes["F"]:
        return f"the field 'extractor_config.length' of its header must be {sizes['F']}"
    square = model.predictor.parts.learned.summary.square
    if isinstance(square, np.ndarray) != (settings.noise == "full"):
        return (
            f"the field '{SUMMARY}.square' of its header must be {'null' if settings.noise == 'full' else 'a number'}"
        )
    return None


def _check_tensor(array: Array, wanted: Tensor, sizes: dict[str, int]) -> str | None:
    if array.dtype != np.dtype(wanted.dtype):
        return f"must be of type {wanted.dtype}, got {array.dtype}"
    if len(array.shape) == len(wanted.shape):
        for size, length in zip(wanted.shape, array.shape, strict=True):
            if isinstance(size, str):
                sizes.setdefault(size, length)
                if size in ("B", "F", "D") and length == 0:
                    return "is empty"
    shape = tuple(sizes.get(size, 0) if isinstance(size, str) else size for size in wanted.shape)
    if array.shape != shape:
        return f"must have shape {shape}, got {array.shape}"
    lowest, highest = (float(array.min()), float(array.max())) if array.size else (wanted.least, wanted.most)
    if lowest < wanted.least or highest > wanted.most:
        return f"must lie between {wanted.least:g} and {wanted.most:g}, got {lowest:g} to {highest:g}"
    return None


def _check_relations(model: TrainedModel) -> str | None:
    """Check conditions on arrays that type, shape and range do not express."""
    embedding, learned = model.predictor.embedding, model.predictor.parts.learned
    ends, summary, square = embedding.views.ends, learned.summary, learned.summary.square
    if not (np.all(np.diff(ends) > 0) and ends[-1] == len(embedding.projection.basis)):
        return "the tensor 'predictor.embedding.views.ends' must rise to the length of the features"
    if not np.all(summary.count <= summary.n_regions * (1 + 1e-9)):
        return f"the tensor '{SUMMARY}.count' must not exceed the number of regions"
    if learned.settings.noise != "full":
        return None
    if not (_is_symmetric(learned.state.inverse_shape) and np.linalg.eigvalsh(learned.state.inverse_shape)[0] > 0):
        return f"the tensor '{STATE}.inverse_shape' must be symmetric and positive definite"
    if not (_is_symmetric(np.asarray(square)) and np.all(np.diag(square) >= 0)):
        return f"the tensor '{SUMMARY}.square' must be symmetric, with no negative number on its diagonal"
    return None


def _is_symmetric(matrix: Array) -> bool:
    return bool(np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * float(np.abs(matrix).max(initial=0.0))))
