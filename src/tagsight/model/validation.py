"""Validation of arguments; every error message names the argument and the first invalid index."""

import numpy as np

from tagsight.errors import InputError
from tagsight.model.layout import Edges
from tagsight.types import Array, Ints

MAX_WORKERS = 1024  # processes or actors
CHUNK = 4096  # rows; keeps the check's memory small beside memory-mapped features


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> None:
    """Raise InputError unless the value is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_least(value: float, name: str, least: float) -> None:
    """Raise InputError unless the value is at least `least`."""
    if not value >= least:
        raise InputError(f"{name} must be {least} or more, got {value!r}")


def check_between(value: float, name: str, least: float, most: float) -> None:
    """Raise InputError unless the value lies between `least` and `most`."""
    if not least <= value <= most:
        raise InputError(f"{name} must lie between {least} and {most}, got {value!r}")


def check_features(X: Array) -> Array:
    """Return X as a contiguous array; raise InputError for NaN or infinity. A memory map stays one."""
    rows = np.ascontiguousarray(X)
    for first in range(0, len(rows), CHUNK):
        finite = np.isfinite(rows[first : first + CHUNK])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise InputError(f"X contains NaN or infinity, first at row {first + row}, column {column}")
    return rows


def check_tags(tags: Array, name: str, widths: tuple[int, ...]) -> Array:
    """Return 0/1 rows, one per photo, as uint8; raise InputError for other values or widths."""
    tags = np.asarray(tags)
    if tags.ndim != 2 or tags.shape[1] not in widths:
        wanted = " or ".join(str(width) for width in widths)
        raise InputError(f"{name} must have shape (photos, {wanted}), got {tags.shape}")
    wrong = np.argwhere((tags != 0) & (tags != 1))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(f"{name} must be 0 or 1, got {tags[row, column]!r} at row {row}, column {column}")
    return tags.astype(np.uint8)


def check_groups(groups: Array, n_regions: int, n_photos: int | None) -> Ints:
    """Return the photo of each region as integers; raise InputError unless below `n_photos`, if that is given."""
    groups = np.asarray(groups)
    if groups.shape != (n_regions,):
        raise InputError(f"groups must have shape ({n_regions},), one photo per region, got {groups.shape}")
    whole = _check_whole(groups, "groups")
    wrong = np.flatnonzero((whole < 0) | (whole >= (np.inf if n_photos is None else n_photos)))
    if len(wrong):
        limit = "0 or more" if n_photos is None else f"between 0 and {n_photos - 1}, the last row of tags"
        raise InputError(f"groups must be {limit}, got {whole[wrong[0]]} at index {wrong[0]}")
    return whole


def check_edges(edges: Array | None, weights: Array | None, groups: Ints) -> Edges:
    """Return neighbouring pairs within photos, each once; a repeated pair keeps its first weight."""
    if edges is None:
        if weights is not None:
            raise InputError("edge_weights given without edges")
        return Edges(np.zeros((0, 2), np.int64), np.zeros(0))
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"edges must have shape (E, 2), got {pairs.shape}")
    pairs = _check_whole(pairs, "edges")
    _refuse(
        pairs,
        np.any((pairs < 0) | (pairs >= len(groups)), axis=1),
        f"is out of range for {len(groups)} regions",
    )
    _refuse(pairs, pairs[:, 0] == pairs[:, 1], "joins a region to itself")
    _refuse(pairs, groups[pairs[:, 0]] != groups[pairs[:, 1]], "joins regions of different photos")
    weight = np.ones(len(pairs)) if weights is None else np.asarray(weights, float)
    if weight.shape != (len(pairs),):
        raise InputError(f"edge_weights must have shape ({len(pairs)},), one per edge, got {weight.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        raise InputError(f"edge_weights must be finite and not negative, got {weight[wrong[0]]} at index {wrong[0]}")
    ordered = np.sort(pairs, axis=1)
    _, once = np.unique(ordered[:, 0] * len(groups) + ordered[:, 1], return_index=True)
    return Edges(ordered[once], weight[once])


def _check_whole(values: Array, name: str) -> Ints:
    if values.dtype.kind in "iu" or values.size == 0:
        return values.astype(np.int64)
    wrong = np.argwhere(values != np.floor(values)) if values.dtype.kind == "f" else np.zeros((1, values.ndim), int)
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        raise InputError(f"{name} must be whole numbers, got {values[place]!r} at index {place}")
    return values.astype(np.int64)


def _refuse(pairs: Ints, wrong: Array, why: str) -> None:
    if wrong.any():
        e = int(np.argmax(wrong))
        raise InputError(f"edges[{e}] = ({pairs[e, 0]}, {pairs[e, 1]}) {why}")
