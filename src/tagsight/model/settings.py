"""Settings of the model, the paper's presets, and the factor columns that follow from the settings."""

from typing import Any, NamedTuple

import numpy as np

from tagsight.errors import InputError
from tagsight.types import Array, Ints

STICKS = ("per-kind", "single")
STICK_ORDERS = ("ranked", "free-first", "tagged-first")
STICK_SPANS = ("allowed", "all")
MIN_SHRINKAGE, MAX_SHRINKAGE = 1e-6, 1e9  # in regions
NOISES = ("isotropic", "full")
MAX_FREE = 1000  # free factors; the model stores matrices with a row and a column per factor

# The paper's models of regions, without fields and with both, as arguments of `StackedIBP`. The paper does not report
# the strengths of its fields. docs/explanation/model.md, section 10, describes how these were chosen, and section 5 why
# the field within regions is centred. `training.options` adds a preset for photos.
PRESETS: dict[str, dict[str, Any]] = {
    "ws-sibp": {"coupling": 0.0, "affinity": 0.0, "centred": False},
    "additive": {"coupling": 0.4, "affinity": 2.0, "centred": True},
}


class Factors(NamedTuple):
    """Number of factors of each kind; columns are objects, then attributes, then free factors."""

    objects: int
    attributes: int
    free: int

    @property
    def tagged(self) -> int:
        """Number of factors that a training photo allows only if it has their tag."""
        return self.objects + self.attributes

    @property
    def total(self) -> int:
        """K."""
        return self.objects + self.attributes + self.free


class Settings(NamedTuple):
    """Settings of the model; everything the updates need besides data and state."""

    factors: Factors
    coupling: float = 1.0  # beta
    affinity: float = 1.0  # rho, the strength of the field within regions; M is `Globals.affinity`
    learn_affinity: bool = True  # re-estimate M in every global step
    centred: bool = False  # the within-region field couples deviations from the photo's mean
    sticks: str = "per-kind"  # one of STICKS
    stick_order: str = "ranked"  # one of STICK_ORDERS
    stick_span: str = "allowed"  # one of STICK_SPANS
    sparsity: float | None = None  # alpha; None: learned
    passes: int = 1  # updates of every nu in one sweep
    noise: str = "isotropic"  # one of NOISES: covariance sigma^2 I, or sigma^2 Omega with learned Omega
    exclusive: bool = False  # at most one object or free factor is on in a region
    shrinkage: float | None = None  # sigma^2 / sigma_A^2, in regions; None: learned
    attribute_shrinkage: float | None = None  # the same for attributes; None: as for the others


DEFAULTS = Settings(Factors(objects=0, attributes=0, free=20))  # of `StackedIBP` and of `tagsight train`
SEED = 0


def check_settings(settings: Settings) -> None:
    """Raise InputError for invalid or contradictory settings."""
    if settings.noise not in NOISES:
        raise InputError(f"noise must be one of {', '.join(NOISES)}, got {settings.noise!r}")
    _check_flag(settings.exclusive, "exclusive")
    check_shrinkage(settings.shrinkage, settings.attribute_shrinkage)


def _check_flag(value: object, name: str) -> None:
    """Raise InputError unless the value is a bool."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {value!r}")


def check_shrinkage(shrinkage: float | None, attribute_shrinkage: float | None) -> None:
    """Raise InputError for an invalid strength of the appearances' priors."""
    for name, value in (("shrinkage", shrinkage), ("attribute_shrinkage", attribute_shrinkage)):
        if value is not None and not MIN_SHRINKAGE <= value <= MAX_SHRINKAGE:
            raise InputError(f"{name} must lie between {MIN_SHRINKAGE:g} and {MAX_SHRINKAGE:g}, got {value!r}")
    if attribute_shrinkage is not None and shrinkage is None:
        raise InputError("attribute_shrinkage is given without shrinkage: set shrinkage too, or leave both out")


class StickPlan(NamedTuple):
    """Stick sequence of each factor, the initial stick order, and the exclusive factors."""

    sequence: Ints  # (K,) stick sequence of each column
    order: Ints  # (K,) columns in stick order; sequences are contiguous
    ranked: bool  # a photo may re-order each sequence by its own counts
    spans_all: bool  # a photo's sequence also holds factors its tags forbid
    exclusive: Array  # (K,) bool: at most one of these is on in a region; they come first in `order`

    @property
    def n_sequences(self) -> int:
        """S."""
        return int(self.sequence.max(initial=0)) + 1


def plan_sticks(settings: Settings) -> StickPlan:
    """Assign the K columns to stick sequences."""
    objects, attributes, free = settings.factors
    kind = np.repeat(np.arange(3), [objects, attributes, free])
    columns = np.arange(settings.factors.total)
    kinds = (0, 1, 2) if settings.stick_order == "tagged-first" else (2, 0, 1)
    if settings.exclusive:
        kinds = tuple(sorted(kinds, key=lambda kind: kind == 1))  # attributes last
    order = np.concatenate([columns[kind == number] for number in kinds])
    sequence = kind if settings.sticks == "per-kind" else np.zeros_like(kind)
    return StickPlan(
        sequence=sequence,
        order=order,
        ranked=settings.stick_order == "ranked",
        spans_all=settings.stick_span == "all",
        exclusive=bool(settings.exclusive) & (kind != 1),
    )
