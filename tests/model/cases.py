"""Small photos and random points of the variational family, for the source and for the oracles alike."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tagsight.model.bound import Bound, evaluate_bound
from tagsight.model.global_step import fit_sparsity
from tagsight.model.layout import Edges, Layout, Shard, lay_out, scatter_assign
from tagsight.model.local_step import add_squares, local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.settings import (
    NOISES,
    STICK_ORDERS,
    STICK_SPANS,
    STICKS,
    Factors,
    Settings,
    StickPlan,
    plan_sticks,
)
from tagsight.model.state import (
    ISOTROPIC,
    Appearance,
    Globals,
    Local,
    Scales,
    Sparsity,
    SummaryStatistics,
    empty_summary,
)
from tagsight.types import Array, Floats, Ints
from tests.oracles import Posterior

ONLY_SUMMARISE = SweepOptions(passes=0)
FACTORS = Factors(3, 2, 2)
STICK_CHOICES = [
    {"sticks": sticks, "stick_order": order, "stick_span": span}
    for sticks, order, span in product(STICKS, STICK_ORDERS, STICK_SPANS)
]
FIELD_CHOICES = [
    {"coupling": coupling, "affinity": affinity, "centred": centred}
    for coupling, affinity, centred in [
        (0.0, 0.0, False),
        (1.0, 0.0, False),
        (0.0, 1.0, False),
        (0.0, 1.0, True),
        (1.0, 1.0, False),
        (1.0, 1.0, True),
        (5.0, 5.0, False),
        (5.0, 5.0, True),
    ]
]


EXCLUSIVE_CHOICES: list[dict[str, Any]] = [
    {"exclusive": exclusive, "shrinkage": shrinkage, "attribute_shrinkage": of_attributes, "noise": noise}
    for exclusive, shrinkage, of_attributes in [
        (True, None, None),
        (False, 3.0, None),
        (True, 3.0, None),
        (True, 0.5, 12.0),
    ]
    for noise in NOISES
]


class Data(NamedTuple):
    X: Floats  # (N, D)
    groups: Ints  # (N,)
    allowed: Array  # (I, K)
    edges: Edges


class Case(NamedTuple):
    """Photos and a point to start from."""

    data: Data
    settings: Settings
    shard: Shard
    local: Local
    state: Globals
    alpha: Floats  # (S, 2) shape and rate of q(alpha)

    @property
    def plan(self) -> StickPlan:
        return plan_sticks(self.settings)


def draw_data(
    rng: np.random.Generator,
    factors: Factors = FACTORS,
    *,
    sizes: tuple[int, ...] = (4, 1, 6, 3, 5),
    D: int = 4,
    noise: float = 0.7,
    weighted: bool = True,
    shuffled: bool = True,
) -> Data:
    """Regions of several photos; rings of neighbours with a chord; free factors are always allowed."""
    K = factors.total
    groups = np.repeat(np.arange(len(sizes)), sizes)
    groups = rng.permutation(groups) if shuffled else groups
    allowed = (rng.random((len(sizes), K)) < 0.6).astype(np.uint8)
    allowed[:, factors.tagged :] = 1
    pairs = []
    for i in range(len(sizes)):
        rows = np.flatnonzero(groups == i)
        pairs += [(rows[a], rows[a + 1]) for a in range(len(rows) - 1)]
        if len(rows) > 2:
            pairs += [(rows[0], rows[-1])]
        if len(rows) > 4:
            pairs += [(rows[1], rows[3])]
    z = (rng.random((len(groups), K)) < 0.4) * allowed[groups]
    X = z @ rng.standard_normal((K, D)) + noise * rng.standard_normal((len(groups), D))
    weight = rng.uniform(0.2, 2.0, len(pairs)) if weighted else np.ones(len(pairs))
    return Data(X, groups, allowed, Edges(np.array(pairs, np.int64).reshape(-1, 2), weight))


def draw_case(seed: int, data: Data | None = None, factors: Factors = FACTORS, **choices: Any) -> Case:
    """A random point: nothing is at any optimum."""
    rng = np.random.default_rng(seed)
    settings = Settings(factors, **{"learn_affinity": False, **choices})
    data = draw_data(rng, factors) if data is None else data
    K, D, n_photos = factors.total, data.X.shape[1], len(data.allowed)
    plan = plan_sticks(settings)
    shard = make_shard(data, plan, settings.noise)
    order = np.tile(plan.order, (n_photos, 1))
    if plan.ranked:
        for row, s in product(order, range(plan.n_sequences)):
            places = np.flatnonzero(plan.sequence[row] == s)
            row[places] = rng.permutation(row[places])
    held = data.allowed.astype(bool) | plan.spans_all
    sticks = np.where(held[..., None], rng.uniform(0.5, 6.0, (n_photos, K, 2)), 1.0)
    nu = rng.random((len(data.X), K)) * data.allowed[data.groups]
    nu[:, plan.exclusive] /= 1.0 + nu[:, plan.exclusive].sum(axis=1, keepdims=True)
    M = np.triu(rng.uniform(-1, 1, (K, K)), 1)
    M[np.ix_(plan.exclusive, plan.exclusive)] = 0.0
    alpha = rng.uniform(1.0, 5.0, (plan.n_sequences, 2))
    state = Globals(
        Appearance(rng.standard_normal((K, D)), rng.uniform(0.05, 0.5, K)),
        Scales(rng.uniform(0.5, 2.0), rng.uniform(0.5, 2.0)),
        sparsity_of(alpha),
        M + M.T,
        draw_inverse_shape(np.random.default_rng(seed), D) if settings.noise == "full" else ISOTROPIC,
    )
    return Case(data, settings, shard, Local(flatten(shard.layout, nu), sticks, order), state, alpha)


def draw_inverse_shape(rng: np.random.Generator, D: int) -> Floats:
    """The inverse of an Omega with trace D."""
    root = rng.standard_normal((D, 2 * D))
    Omega = root @ root.T
    return np.linalg.inv(Omega * D / np.trace(Omega))


def make_shard(data: Data, plan: StickPlan, noise: str = "isotropic") -> Shard:
    layout = lay_out(data.groups, data.allowed, data.edges, plan)
    return Shard(data.X, layout, add_squares(data.X, layout, noise=noise))


def sparsity_of(alpha: Floats) -> Sparsity:
    """The record of q(alpha) = Gamma(shape, rate), by way of the sticks that would have led to it."""
    blank = empty_summary(1, 1, len(alpha))
    return fit_sparsity(blank._replace(n_sticks=alpha[:, 0] - 1.0, log_sticks=1.0 - alpha[:, 1]))


def flatten(layout: Layout, nu: Floats) -> Floats:
    """Dense nu (N, K) as the layout stores it."""
    blocks = [np.zeros(0)]
    for i in range(layout.n_photos):
        rows = layout.rows[layout.slot_start[i] : layout.slot_start[i + 1]]
        factor = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
        blocks.append(nu[np.ix_(rows, factor)].T.ravel())
    return np.concatenate(blocks)


def dense(case: Case) -> Floats:
    """nu (N, K)."""
    out = np.zeros((len(case.data.X), case.settings.factors.total))
    scatter_assign(case.shard.layout, case.local.assign, np.arange(len(out)), out)
    return out


def summarise(case: Case) -> SummaryStatistics:
    return local_step(case.shard, case.local, case.state, case.settings, ONLY_SUMMARISE)[1]


def evaluate(case: Case) -> Bound:
    return evaluate_bound(summarise(case), case.state, case.settings)


def sweep_nu(case: Case, passes: int = 1) -> Case:
    """Update every nu so many times and leave the sticks as they were."""
    for _ in range(passes):
        new, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=1))
        case = case._replace(local=case.local._replace(assign=new.assign))
    return case


def sequences_of(case: Case) -> list[list[list[int]]]:
    """The columns of each photo's stick sequences, in order."""
    objects, attributes, free = case.settings.factors
    kind = [0] * objects + [1] * attributes + [2] * free
    single = case.settings.sticks == "single"
    held = case.data.allowed.astype(bool) | (case.settings.stick_span == "all")
    n_sequences = 1 if single else len(case.alpha)
    return [
        [[int(k) for k in order if held[i, k] and (single or kind[k] == s)] for s in range(n_sequences)]
        for i, order in enumerate(case.local.order)
    ]


def shrinkage_of(settings: Settings) -> Floats | None:
    """r of every factor's appearance."""
    if settings.shrinkage is None:
        return None
    objects, attributes, free = settings.factors
    of_attributes = settings.attribute_shrinkage or settings.shrinkage
    return np.array([settings.shrinkage] * objects + [of_attributes] * attributes + [settings.shrinkage] * free)


def for_oracle(case: Case) -> Posterior:
    """The same point as the oracles know it."""
    data, state = case.data, case.state
    objects, attributes, free = case.settings.factors
    edges = [(int(a), int(b), float(w)) for (a, b), w in zip(*data.edges, strict=True)]
    return Posterior(
        X=data.X,
        photo=data.groups,
        L=data.allowed.astype(bool),
        edges=edges,
        beta=case.settings.coupling,
        rho=case.settings.affinity,
        centred=case.settings.centred,
        sequences=sequences_of(case),
        ranked=case.settings.stick_order == "ranked",
        nu=dense(case),
        tau=case.local.sticks.copy(),
        phi=state.appearance.mean.copy(),
        Phi=state.appearance.var.copy(),
        noise=state.scales.noise,
        scale=state.scales.appearance,
        alpha=case.alpha.copy(),
        M=state.affinity.copy(),
        Omega=np.asarray(
            np.linalg.inv(state.inverse_shape) if state.inverse_shape.size else np.eye(data.X.shape[1]), float
        ),
        exclusive=np.array(
            [case.settings.exclusive] * objects + [False] * attributes + [case.settings.exclusive] * free
        ),
        shrinkage=shrinkage_of(case.settings),
        full=case.settings.noise == "full",
    )
