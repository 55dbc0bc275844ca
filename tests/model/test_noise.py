"""A full noise covariance: the isotropic model in other coordinates, and found where it was planted."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tagsight.estimator import StackedIBP
from tagsight.model.global_step import fit_appearance_scale
from tagsight.model.local_step import local_step
from tagsight.model.noise import fit_full_noise
from tagsight.model.photo_step import SweepOptions
from tagsight.model.planted import draw_appearance, draw_planted
from tagsight.model.state import ISOTROPIC, Appearance, Scales, SummaryStatistics, empty_summary
from tagsight.types import Floats
from tests.model.cases import draw_case, summarise


def fit_noise_and_scale(
    summary: SummaryStatistics, appearance: Appearance, scales: Scales, inverse_shape: Floats
) -> tuple[Appearance, Scales, Floats]:
    """Sigma and then sigma_A^2."""
    prior_precision = np.full(len(appearance.var), scales.noise / scales.appearance)
    appearance, noise, inverse_shape = fit_full_noise(summary, appearance, scales.noise, prior_precision, inverse_shape)
    return appearance, Scales(noise, fit_appearance_scale(appearance, inverse_shape)), inverse_shape


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_isotropic_model_where_the_noise_is_white(seed: int) -> None:
    case = draw_case(seed, noise="full", coupling=0.7, affinity=0.9)
    L = np.linalg.cholesky(case.state.inverse_shape)  # rows times L have Omega = I
    mean, var = case.state.appearance
    white = case.state._replace(appearance=Appearance(mean @ L, var), inverse_shape=ISOTROPIC)
    shard = case.shard._replace(features=case.data.X @ L, square=float(np.sum((case.data.X @ L) ** 2)))
    isotropic = case.settings._replace(noise="isotropic")
    one, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=3))
    other, _ = local_step(shard, case.local, white, isotropic, SweepOptions(passes=3))
    assert one.assign == pytest.approx(other.assign, abs=1e-9)
    assert one.sticks == pytest.approx(other.sticks, rel=1e-9)


def test_few_regions_leave_the_noise_nearly_isotropic_and_many_do_not() -> None:
    case = draw_case(3, noise="full")
    summary = summarise(case)

    def unevenness(times: float) -> float:
        scaled = summary._replace(
            n_regions=times * summary.n_regions, square=times * np.asarray(summary.square),
            cross=times * summary.cross, pair=times * summary.pair, count=times * summary.count,
        )  # fmt: skip
        (appearance, scales, *_), inverse_shape = case.state, ISOTROPIC
        for _ in range(50):
            appearance, scales, inverse_shape = fit_noise_and_scale(scaled, appearance, scales, inverse_shape)
        return float(np.linalg.cond(inverse_shape))

    assert unevenness(0.01) < 1.3
    assert unevenness(0.01) < unevenness(1.0) < unevenness(100.0)


@pytest.fixture(scope="module")
def planted():
    """Photos whose noise has most of its power along directions that tell the factors apart."""
    D, n_objects, n_free = 12, 3, 1
    appearance = draw_appearance(n_objects + n_free, D, seed=2)
    photos = draw_planted(appearance, n_free, n_photos=500, n_regions=12, noise=0.0, tags_per_photo=1.5, seed=3)
    rng = np.random.default_rng(4)
    axes, _ = np.linalg.qr(rng.standard_normal((D, D)))
    covariance = axes @ np.diag([6.0, 4.0, 2.0, *[0.15] * (D - 3)]) @ axes.T
    noise = rng.multivariate_normal(np.zeros(D), covariance, len(photos.X))
    return photos._replace(X=photos.X + noise), covariance


def test_a_planted_covariance_is_found_and_helps(planted) -> None:
    photos, covariance = planted
    found = {}
    for noise in ("isotropic", "full"):
        model = StackedIBP(n_objects=3, n_free=1, noise=noise, coupling=0.0, affinity=0.0, tol=1e-7, max_sweeps=500)
        model.fit(photos.X, photos.tags, groups=photos.groups)
        right = np.mean((model.assign_[:, :3] > 0.5) == (photos.assign[:, :3]))
        found[noise] = (right, model.noise_covariance_)
    assert found["full"][0] > 0.97
    assert found["full"][0] > found["isotropic"][0] + 0.02
    error = np.linalg.norm(found["full"][1] - covariance) / np.linalg.norm(covariance)
    assert error < 0.15
    assert np.allclose(found["isotropic"][1], found["isotropic"][1][0, 0] * np.eye(12))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "D"), [(100, 64), (1000, 64), (1000, 6)])
def test_isotropic_noise_is_found_up_to_the_bias_of_a_mode(n: int, D: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, D))
    summary = empty_summary(1, D, 1)._replace(n_regions=float(n), square=X.T @ X)
    appearance, scales, inverse_shape = Appearance(np.zeros((1, D)), np.ones(1)), Scales(1.0, 1.0), ISOTROPIC
    for _ in range(500):
        appearance, scales, inverse_shape = fit_noise_and_scale(summary, appearance, scales, inverse_shape)
    assert scales.noise == pytest.approx(np.mean(X**2) * n / (n + D + 1), rel=0.15)


@pytest.mark.parametrize("fault", ["copy", "constant", "centred", "zero"])
def test_directions_without_variance_do_not_break_the_fit(fault: str) -> None:
    photos = draw_planted(draw_appearance(3, 6, seed=0), 1, n_photos=400, n_regions=8, noise=0.5, seed=1)
    X = photos.X.copy()
    if fault == "copy":
        X[:, 1] = X[:, 0]
    elif fault == "constant":
        X[:, 0] = 0.0
    elif fault == "centred":
        X -= X.mean(axis=1, keepdims=True)
    else:
        X[:] = 0.0
    model = StackedIBP(n_objects=2, n_free=1, noise="full", coupling=0.0, affinity=0.0, max_sweeps=400, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, photos.tags, groups=photos.groups)
    assert np.isfinite(model.bound_).all()
    assert np.isfinite(model.noise_covariance_).all()
