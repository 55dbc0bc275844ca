"""The model as a scikit-learn style estimator over arrays."""

# pyright: reportConstantRedefinition=false
# X is a matrix here, not a constant.

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from tagsight.engine.devices import ComputeTarget, LocalBatch, check_device, check_engine
from tagsight.engine.fit import FitSpec, fit_shards
from tagsight.engine.inference import FittedModel, Inference, NewPhotos, infer_photos, infer_transductively
from tagsight.errors import InputError
from tagsight.model.fields import start_affinity
from tagsight.model.fit import Fit, Loop, Sweep, ignore_progress
from tagsight.model.free_factors import measure_free_usage
from tagsight.model.layout import Shard, lay_out_parts, scatter_assign
from tagsight.model.local_step import add_squares
from tagsight.model.photo_sticks import expect_weights
from tagsight.model.settings import (
    DEFAULTS,
    MAX_FREE,
    PRESETS,
    SEED,
    STICK_ORDERS,
    STICK_SPANS,
    STICKS,
    Factors,
    Settings,
    check_settings,
    plan_sticks,
)
from tagsight.model.start import START, STARTS
from tagsight.model.validation import (
    check_between,
    check_choice,
    check_edges,
    check_features,
    check_groups,
    check_least,
    check_tags,
)
from tagsight.types import Array, Floats, Ints

FLOATS = (np.float64, np.float32)
TARGET = ComputeTarget()


class StackedIBP(BaseEstimator):
    """Weakly supervised stacked Indian buffet process over regions (WS-SIBP, WS-MRF-SIBP).

    Parameters
    ----------
    n_objects, n_attributes : int
        Number of factors tagged with nouns, and with adjectives.
    n_free : int
        Number of free factors: those to discover beside the tags.
    coupling : float
        Strength beta of the field between neighbouring regions; 0 switches it off.
    affinity : float
        Strength rho of the field within a region; 0 switches it off. Both 0: WS-SIBP.
    sticks : {"per-kind", "single"}
        One stick sequence per kind of factor, each with its own sparsity, or a single one as in the paper.
    stick_order : {"ranked", "free-first", "tagged-first"}
        Order of factors along a sequence: learned for each photo, or the same in all photos.
    stick_span : {"allowed", "all"}
        Whether a photo's sticks contain only its allowed factors or all.
    sparsity : float or None
        alpha of every sequence; None learns one for each.
    centred : bool
        Whether the field within a region acts on deviations from the photo's mean. Correlated factors then turn on in
        the same regions of a photo rather than in all of them.
    learn_affinity : bool
        Whether the correlation matrix M of the field within a region is re-estimated in every sweep, or is the
        correlation of the tags.
    start : {"tags", "activation", "kmeans", "random"}
        How assignments are initialised: tags, activation, kmeans or random.
    passes : int
        Updates of every factor of a region in one sweep.
    noise : {"isotropic", "full"}
        Covariance of the noise: isotropic, or full with a prior that shrinks it towards an isotropic one with the
        weight of fifty regions per dimension.
    exclusive : bool
        Whether at most one object or free factor is on in a region, beside any number of attributes.
    shrinkage : float or None
        Strength of the prior that draws appearances towards zero, as a number of regions. Default: learned.
    attribute_shrinkage : float or None
        The same for attributes. Default: equal to shrinkage.
    max_sweeps, tol : int, float
        Stop when the bound's relative change is at most `tol`; a ConvergenceWarning after `max_sweeps`.
    n_batches : int
        Batches of photos with a global step after each (memoised inference); 1: one global step per sweep.
    device : {"cpu", "cuda", "cuda-bf16"}
        Device that `fit` runs on: the processors of this machine, or an NVIDIA GPU with float32 or bfloat16 features.
    engine : {"local", "ray"}
        Whether `fit` runs in this process, or in actors of a Ray cluster: the one this process is part of (`ray.init`),
        otherwise a new one on this machine. The results are equal up to rounding.
    n_threads : int or None
        Number of threads, or of actors; None uses all cores. The result does not depend on the number of threads.
    seed : int
        Seed of every random choice.

    Attributes
    ----------
    assign_ : (N, K) posterior probabilities; columns are objects, attributes, free
    prior_ : (I, K) photo-level weight of each factor
    appearance_mean_, appearance_var_ : (K, D), (K,)
    affinity_ : (K, K) correlation matrix M of the within-region field
    sparsity_ : (S,) expected alpha of each stick sequence
    noise_ : noise variance, the mean over dimensions
    noise_covariance_ : (n_features, n_features)
    bound_, bound_terms_ : the bound after each sweep, and its named terms
    n_sweeps_, converged_ : length of `bound_`; whether the stop rule ended training
    free_usage_ : expected regions of each free factor, and the columns of unused ones
    """

    def __init__(
        self,
        n_objects: int = DEFAULTS.factors.objects,
        n_attributes: int = DEFAULTS.factors.attributes,
        n_free: int = DEFAULTS.factors.free,
        *,
        coupling: float = DEFAULTS.coupling,
        affinity: float = DEFAULTS.affinity,
        sticks: str = DEFAULTS.sticks,
        stick_order: str = DEFAULTS.stick_order,
        stick_span: str = DEFAULTS.stick_span,
        sparsity: float | None = DEFAULTS.sparsity,
        centred: bool = DEFAULTS.centred,
        learn_affinity: bool = DEFAULTS.learn_affinity,
        start: str = START,
        passes: int = DEFAULTS.passes,
        noise: str = DEFAULTS.noise,
        exclusive: bool = DEFAULTS.exclusive,
        shrinkage: float | None = DEFAULTS.shrinkage,
        attribute_shrinkage: float | None = DEFAULTS.attribute_shrinkage,
        max_sweeps: int = 200,
        tol: float = 1e-6,
        n_batches: int = 1,
        device: str = TARGET.device,
        engine: str = TARGET.engine,
        n_threads: int | None = TARGET.n_workers,
        seed: int = SEED,
    ):
        self.n_objects = n_objects
        self.n_attributes = n_attributes
        self.n_free = n_free
        self.coupling = coupling
        self.affinity = affinity
        self.sticks = sticks
        self.stick_order = stick_order
        self.stick_span = stick_span
        self.sparsity = sparsity
        self.centred = centred
        self.learn_affinity = learn_affinity
        self.start = start
        self.passes = passes
        self.noise = noise
        self.exclusive = exclusive
        self.shrinkage = shrinkage
        self.attribute_shrinkage = attribute_shrinkage
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.n_batches = n_batches
        self.device = device
        self.engine = engine
        self.n_threads = n_threads
        self.seed = seed

    @classmethod
    def from_preset(cls, name: str, **parameters: Any) -> Self:
        """Return an estimator with the settings of a preset, overridden by `parameters`.

        `ws-sibp` is the paper's model without fields, `additive` that with both.
        """
        check_choice(name, "preset", tuple(PRESETS))
        return cls(**{**PRESETS[name], **parameters})

    def fit(
        self,
        X: Array,
        tags: Array | None = None,
        *,
        groups: Array | None = None,
        edges: Array | None = None,
        edge_weights: Array | None = None,
        on_sweep: Callable[[Sweep], None] | None = None,
    ) -> Self:
        """Learn from regions `X` (N, D) of photos tagged `tags` (I, n_objects + n_attributes).

        `groups` (N,) is the photo of each region (None: every region is a photo of its own), `edges` (E, 2)
        are neighbouring regions, `edge_weights` (E,) their weights, for instance the length of the shared boundary.
        `on_sweep` is called after every sweep. Without tagged factors `tags` is ignored.
        """
        settings = self._settings()
        check_device(self.device)
        check_engine(self.engine, self.device)
        if self.engine == "ray" and self.n_batches > 1:
            raise InputError(f"engine 'ray' updates all photos at once: n_batches must be 1, got {self.n_batches}")
        X = check_features(validate_data(self, X, dtype=FLOATS, ensure_all_finite=False))
        groups_, tags_ = self._photos(X, tags, groups, settings.factors)
        allowed = _allow_free(tags_, settings.factors)
        layouts = lay_out_parts(
            groups_,
            allowed,
            check_edges(edges, edge_weights, groups_),
            plan_sticks(settings),
            min(self.n_batches, len(allowed)),
        )
        spec = FitSpec(
            X.shape[1],
            settings,
            Loop(self.max_sweeps, self.tol, on_sweep or ignore_progress),
            start_affinity(tags_, settings),
            self.start,
            self.seed,
        )
        shards = [Shard(X, layout, add_squares(X, layout, noise=self.noise)) for layout in layouts]
        result, batches = fit_shards(shards, spec, ComputeTarget(self.device, self.engine, self.n_threads))
        self._store_fit(result, batches, allowed, settings)
        if not result.converged:
            warnings.warn(
                f"the bound did not converge in max_sweeps={self.max_sweeps} sweeps; raise max_sweeps or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def infer(
        self,
        X: Array,
        *,
        groups: Array | None = None,
        edges: Array | None = None,
        edge_weights: Array | None = None,
        allowed: Array | None = None,
        transductive: bool = False,
    ) -> Inference:
        """Return the posterior of new photos' regions; arguments as in `fit`.

        `allowed` (I, n_objects + n_attributes) or (I, K) limits the factors of each photo; None allows all.
        `transductive` also fits the appearance to the new photos, together with the training photos; the estimator
        itself is not changed.
        """
        check_is_fitted(self)
        settings = self._settings()
        X = check_features(validate_data(self, X, dtype=FLOATS, reset=False, ensure_all_finite=False))
        X = X.astype(self.assign_.dtype, copy=False)
        factors = settings.factors
        if allowed is not None:
            allowed = check_tags(allowed, "allowed", (factors.tagged, factors.total))
            allowed = allowed if allowed.shape[1] == factors.total else _allow_free(allowed, factors)
        groups_ = _photo_of_each(X, groups, None if allowed is None else len(allowed))
        if allowed is None:
            allowed = np.ones((int(groups_.max(initial=-1)) + 1, factors.total), np.uint8)
        photos = NewPhotos(X, groups_, check_edges(edges, edge_weights, groups_), allowed)
        if transductive:
            return infer_transductively(
                self._learned, photos, max_sweeps=self.max_sweeps, tol=self.tol, n_threads=self.n_threads
            )
        return infer_photos(self._learned, photos, n_threads=self.n_threads)

    @property
    def noise_covariance_(self) -> Floats:
        """(n_features, n_features) sigma^2 Omega."""
        check_is_fitted(self)
        inverse_shape = self._learned.state.inverse_shape
        Omega = np.linalg.inv(inverse_shape) if inverse_shape.size else np.eye(self.appearance_mean_.shape[1])
        return self.noise_ * Omega.astype(np.float64)

    def _settings(self) -> Settings:
        check_choice(self.sticks, "sticks", STICKS)
        check_choice(self.stick_order, "stick_order", STICK_ORDERS)
        check_choice(self.stick_span, "stick_span", STICK_SPANS)
        check_choice(self.start, "start", tuple(STARTS))
        factors = Factors(self.n_objects, self.n_attributes, self.n_free)
        if min(factors) < 0 or factors.total == 0:
            raise InputError(f"n_objects, n_attributes, n_free must be 0 or more and not all 0, got {tuple(factors)}")
        check_between(self.n_free, "n_free", 0, MAX_FREE)
        for name in ("coupling", "affinity", "tol", "seed"):
            check_least(getattr(self, name), name, 0)
        for name in ("passes", "max_sweeps", "n_batches"):
            check_least(getattr(self, name), name, 1)
        if self.sparsity is not None and not self.sparsity > 0:
            raise InputError(f"sparsity must be above 0, or None to learn it, got {self.sparsity!r}")
        settings = Settings(
            factors=factors,
            coupling=float(self.coupling),
            affinity=float(self.affinity),
            centred=self.centred,
            learn_affinity=self.learn_affinity,
            sticks=self.sticks,
            stick_order=self.stick_order,
            stick_span=self.stick_span,
            sparsity=self.sparsity,
            passes=self.passes,
            noise=self.noise,
            exclusive=self.exclusive,
            shrinkage=self.shrinkage,
            attribute_shrinkage=self.attribute_shrinkage,
        )
        check_settings(settings)
        return settings

    def _photos(self, X: Array, tags: Array | None, groups: Array | None, factors: Factors) -> tuple[Ints, Array]:
        """Return the photo of each region, and the tags of each photo."""
        if factors.tagged == 0:
            groups_ = _photo_of_each(X, groups, None)
            return groups_, np.zeros((int(groups_.max(initial=-1)) + 1, 0), np.uint8)
        if tags is None:
            raise InputError(f"requires y to be passed, but the target y is None: {factors.tagged} factors need tags")
        tags_ = check_tags(tags, "tags", (factors.tagged,))
        return _photo_of_each(X, groups, len(tags_)), tags_

    def _store_fit(self, result: Fit, batches: list[LocalBatch], allowed: Array, settings: Settings) -> None:
        X = batches[0].shard.features
        local = [batch.local for batch in batches]
        order = np.concatenate([part.order for part in local])
        sticks = np.concatenate([part.sticks for part in local])
        self._learned = FittedModel(result.state, result.summary, settings)
        self.assign_ = np.zeros((len(X), settings.factors.total), X.dtype)
        for batch in batches:
            scatter_assign(batch.shard.layout, batch.local.assign, np.arange(len(X)), self.assign_)
        self.prior_ = expect_weights(order, sticks, allowed, plan_sticks(settings))
        self.appearance_mean_, self.appearance_var_ = result.state.appearance
        self.affinity_ = result.state.affinity
        self.sparsity_ = result.state.sparsity.mean
        self.noise_ = result.state.scales.noise
        self.bound_terms_ = [sweep.bound for sweep in result.sweeps]
        self.bound_ = [bound.total for bound in self.bound_terms_]
        self.n_sweeps_ = len(self.bound_)
        self.converged_ = result.converged
        self.free_usage_ = measure_free_usage(result.summary, settings.factors)


def _photo_of_each(X: Array, groups: Array | None, n_photos: int | None) -> Ints:
    if groups is not None:
        return check_groups(groups, len(X), n_photos)
    if n_photos is not None and n_photos != len(X):
        raise InputError(f"groups is needed to assign the {len(X)} regions to the {n_photos} photos")
    return np.arange(len(X))


def _allow_free(tags: Array, factors: Factors) -> Array:
    return np.hstack([tags, np.ones((len(tags), factors.free), np.uint8)])
