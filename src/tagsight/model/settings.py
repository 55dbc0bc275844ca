"""What a user may choose about the model, and the factor columns that follow from it."""

from typing import NamedTuple

import numpy as np

from tagsight.types import Ints

STICKS = ("per-kind", "single")
STICK_ORDERS = ("ranked", "free-first", "tagged-first")
STICK_SPANS = ("allowed", "all")
NOISES = ("isotropic", "full")
MAX_FREE = 1000  # free factors; the model holds matrices with a row and a column per factor


class Factors(NamedTuple):
    """How many factors of each kind; columns are objects, then attributes, then free."""

    objects: int
    attributes: int
    free: int

    @property
    def tagged(self) -> int:
        """Factors that need a tag to appear in a training photo."""
        return self.objects + self.attributes

    @property
    def total(self) -> int:
        """K."""
        return self.objects + self.attributes + self.free


class Settings(NamedTuple):
    """Everything the updates need to know besides data and state."""

    factors: Factors
    coupling: float = 1.0  # beta
    affinity: float = 1.0  # rho
    learn_affinity: bool = True  # re-estimate M every sweep
    centred: bool = False  # the within-region field is of deviations from the photo's mean
    sticks: str = "per-kind"  # one of STICKS
    stick_order: str = "ranked"  # one of STICK_ORDERS
    stick_span: str = "allowed"  # one of STICK_SPANS
    sparsity: float | None = None  # alpha; None: learned
    passes: int = 1  # visits of every factor of a region in one sweep
    noise: str = "isotropic"  # one of NOISES: sigma^2 I, or sigma^2 Omega with any Omega


class StickPlan(NamedTuple):
    """Which stick sequence each factor belongs to, and the order before any ranking."""

    sequence: Ints  # (K,) sequence of each column
    order: Ints  # (K,) columns in stick order; sequences are contiguous
    ranked: bool  # a photo may re-order each sequence by its own counts
    spans_all: bool  # a photo's sequence also holds factors its tags forbid

    @property
    def n_sequences(self) -> int:
        """S."""
        return int(self.sequence.max(initial=0)) + 1


def plan_sticks(settings: Settings) -> StickPlan:
    """Lay the K columns out as stick sequences."""
    objects, attributes, free = settings.factors
    kind = np.repeat(np.arange(3), [objects, attributes, free])
    columns = np.arange(settings.factors.total)
    free_first = settings.stick_order != "tagged-first"
    order = np.concatenate([columns[kind == 2], columns[kind != 2]]) if free_first else columns
    sequence = kind if settings.sticks == "per-kind" else np.zeros_like(kind)
    return StickPlan(
        sequence=sequence,
        order=order,
        ranked=settings.stick_order == "ranked",
        spans_all=settings.stick_span == "all",
    )
