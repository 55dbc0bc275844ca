"""At convergence the gradient of the literal bound is zero in every coordinate of the posterior."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit, logit

from tagsight.model.global_step import global_step
from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.settings import Factors
from tests import oracles
from tests.model.cases import Case, draw_case, draw_data, for_oracle

STEP = 1e-4
Change = Callable[[oracles.Posterior, float], None]


def converge(case: Case, n_sweeps: int) -> Case:
    local, state = case.local, case.state
    summary = None
    for _ in range(n_sweeps):
        local, summary = local_step(case.shard, local, state, case.settings, SweepOptions(passes=5))
        state = global_step(summary, state, case.settings)
    assert summary is not None
    alpha = np.stack([1.0 + summary.n_sticks, 1.0 - summary.log_sticks], axis=1)
    return case._replace(local=local, state=state, alpha=alpha)


def coordinates(p: oracles.Posterior) -> dict[str, list[Change]]:
    """Steps along each coordinate; positive ones on the log scale, probabilities on the logit scale."""

    def shift_logit(j: int, k: int) -> Change:
        return lambda p, step: p.nu.__setitem__((j, k), expit(logit(p.nu[j, k]) + step))

    def shift_share(j: int, k: int) -> Change:
        """Along the log-weight of one exclusive factor of a region, the others and none keeping theirs."""

        def change(p: oracles.Posterior, step: float) -> None:
            total = 1 + p.nu[j, k] * np.expm1(step)
            p.nu[j, k] *= np.exp(step)
            p.nu[j, p.exclusive] /= total

        return change

    def scale(name: str, place: tuple[int, ...]) -> Change:
        return lambda p, step: getattr(p, name).__setitem__(place, getattr(p, name)[place] * np.exp(step))

    def shift(place: tuple[int, ...]) -> Change:
        return lambda p, step: p.phi.__setitem__(place, p.phi[place] + step)

    def rescale(name: str) -> Change:
        return lambda p, step: setattr(p, name, getattr(p, name) * np.exp(step))

    def stretch(a: int, b: int) -> Change:
        def change(p: oracles.Posterior, step: float) -> None:
            p.Omega[a, b] += step
            p.Omega[b, a] = p.Omega[a, b]

        return change

    held = [(i, k) for i, sequences in enumerate(p.sequences) for columns in sequences for k in columns]
    inside = np.argwhere((p.nu > 1e-9) & (p.nu < 1 - 1e-9))
    return {
        "nu": [(shift_share if p.exclusive[k] else shift_logit)(j, k) for j, k in inside],
        "tau": [scale("tau", (i, k, c)) for i, k in held for c in range(2)],
        "phi": [shift((k, d)) for k, d in np.ndindex(p.phi.shape)],
        "Phi": [scale("Phi", (k,)) for k in range(len(p.Phi))],
        "alpha": [scale("alpha", place) for place in np.ndindex(p.alpha.shape)],
        "noise": [rescale("noise")],
        "scale": [rescale("scale")] if p.shrinkage is None else [],
        "Omega": [stretch(a, b) for a in range(len(p.Omega)) for b in range(a + 1)] if p.full else [],
    }


def gradient(case: Case, change: Change) -> float:
    ends = []
    for step in (STEP, -STEP):
        p = for_oracle(case)
        change(p, step)
        ends.append(sum(oracles.bound(p).values()))
    return (ends[0] - ends[1]) / (2 * STEP)


@pytest.fixture(
    scope="module",
    params=[
        (1, 0.5, {}),
        (1, 1.4, {"centred": True}),
        (6, 1.4, {"noise": "full"}),
        (1, 1.4, {"exclusive": True}),
        (1, 1.4, {"exclusive": True, "centred": True, "shrinkage": 0.8, "attribute_shrinkage": 2.0}),
        (6, 1.4, {"exclusive": True, "noise": "full", "shrinkage": 0.8}),
    ],
    ids=["plain", "centred", "full", "exclusive", "exclusive-centred-shrunken", "exclusive-full-shrunken"],
)
def start(request: pytest.FixtureRequest) -> Case:
    seed, spread, choices = request.param
    factors = Factors(2, 1, 1)
    data = draw_data(np.random.default_rng(seed), factors, sizes=(7, 5, 4, 1), noise=spread)
    return draw_case(seed, data, factors, coupling=0.2, affinity=0.5, **choices)


@pytest.fixture(scope="module")
def end(start: Case) -> Case:
    return converge(start, 1000)


COORDINATES = ("nu", "tau", "phi", "Phi", "alpha", "noise", "scale", "Omega")


def is_fixed(case: Case, name: str) -> bool:
    """Whether the settings of the case leave out these coordinates."""
    fixed = {"Omega": case.settings.noise == "isotropic", "scale": case.settings.shrinkage is not None}
    return fixed.get(name, False)


@pytest.mark.parametrize("name", COORDINATES)
def test_the_gradient_vanishes_at_convergence(end: Case, name: str):
    changes = coordinates(for_oracle(end))[name]
    assert bool(changes) != is_fixed(end, name)
    for change in changes:
        assert gradient(end, change) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", COORDINATES)
def test_the_gradient_does_not_vanish_before(start: Case, name: str):
    changes = coordinates(for_oracle(start))[name]
    assert bool(changes) != is_fixed(start, name)
    assert not changes or max(abs(gradient(start, change)) for change in changes) > 1e-2


def test_the_point_is_not_a_corner(end: Case):
    """If every nu were 0 or 1 its gradient would vanish in any case."""
    point = for_oracle(end)
    nu = point.nu[point.L[point.photo]]
    assert np.mean((nu > 0.02) & (nu < 0.98)) > 0.3
