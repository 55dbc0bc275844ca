import numpy as np
import pytest
from scipy import stats

from tagsight.errors import InputError
from tagsight.features.codebook import (
    CHUNK,
    Mixture,
    learn_mixture,
    learn_projection,
    project,
    share_members,
)


def make_sample(count, width, seed=0):
    """Correlated rows, off centre."""
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(width, width)) * 0.8 ** np.arange(width)[:, None]
    return (rng.normal(size=(count, width)) @ turn + rng.normal(size=width)).astype(np.float32)


def score(sample, mixture):
    """(n, K): log w_k N(x_n; m_k, s_k^2)."""
    densities = stats.norm.logpdf(sample[:, None], mixture.means, np.sqrt(mixture.variances))
    return np.log(mixture.weights) + densities.sum(axis=2)


@pytest.mark.parametrize(("count", "width"), [(200, 12), (12, 200), (30, 30)])
def test_a_projection_is_the_leading_part_of_the_singular_value_decomposition(count, width):
    sample = make_sample(count, width)
    centred = sample.astype(float) - sample.mean(axis=0, dtype=float)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    projection = learn_projection(sample.copy(), 5)
    signs = np.sign((projection.basis * right[:5].T).sum(axis=0))
    np.testing.assert_allclose(projection.basis, right[:5].T * signs, atol=2e-3)
    np.testing.assert_allclose(project(sample, projection), left[:, :5] * sizes[:5] * signs, atol=1e-3 * sizes[0])
    assert (projection.basis.max(axis=0) == np.abs(projection.basis).max(axis=0)).all()


def test_components_a_small_sample_cannot_have_are_zero():
    sample = make_sample(4, 50)
    distances = np.linalg.norm(sample[:, None] - sample, axis=2)
    projection = learn_projection(sample.copy(), 10)
    assert projection.basis.shape == (50, 10)
    assert not projection.basis[:, 3:].any()
    found = project(sample, projection)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found, axis=2), distances, rtol=1e-3)
    assert not learn_projection(np.ones((6, 4), np.float32), 3).basis.any()


def test_memberships_are_posterior_probabilities_whatever_the_chunk():
    sample = make_sample(CHUNK + 50, 6)
    rng = np.random.default_rng(1)
    mixture = Mixture(
        rng.dirichlet(np.ones(5)).astype(np.float32),
        rng.normal(size=(5, 6)).astype(np.float32),
        rng.uniform(0.5, 3, (5, 6)).astype(np.float32),
    )
    powers, members = (np.concatenate(parts) for parts in zip(*share_members(sample, mixture), strict=True))
    scores = score(sample, mixture)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(members, expected / expected.sum(axis=1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(powers, np.hstack([sample, sample**2]), rtol=1e-6)


def test_planted_gaussians_are_found():
    rng = np.random.default_rng(2)
    means = np.array([[0, 0], [8, 0], [0, 9]])
    scales = np.array([[1, 0.6], [0.6, 1.5], [1, 1]])
    lots = rng.choice(3, 6000, p=[0.2, 0.5, 0.3])
    sample = (means[lots] + scales[lots] * rng.normal(size=(6000, 2))).astype(np.float32)
    mixture = learn_mixture(sample, 3, seed=0)
    order = [np.linalg.norm(mixture.means - mean, axis=1).argmin() for mean in means]
    np.testing.assert_allclose(mixture.weights[order], [0.2, 0.5, 0.3], atol=0.02)
    np.testing.assert_allclose(mixture.means[order], means, atol=0.1)
    np.testing.assert_allclose(np.sqrt(mixture.variances[order]), scales, rtol=0.05)


def test_no_round_lowers_the_likelihood():
    sample = make_sample(800, 4)
    likelihoods = []
    for rounds in range(12):
        scores = score(sample, learn_mixture(sample, 6, seed=3, rounds=rounds))
        likelihoods.append(np.logaddexp.reduce(scores, axis=1).mean())
    assert np.diff(likelihoods).min() > -1e-4
    assert likelihoods[-1] > likelihoods[0] + 0.05


def test_same_seed_same_bytes_and_another_seed_others():
    sample = make_sample(500, 5)
    one, again, other = (learn_mixture(sample, 8, seed=seed) for seed in (4, 4, 5))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, again, strict=True))
    assert one.means.tobytes() != other.means.tobytes()


def test_copies_of_one_vector_give_finite_gaussians():
    mixture = learn_mixture(np.full((40, 3), 0.25, np.float32), 8, seed=0)
    assert all(np.isfinite(part).all() for part in mixture)
    assert mixture.weights.min() > 0
    np.testing.assert_allclose(mixture.weights.sum(), 1, rtol=1e-6)


def test_fewer_vectors_than_gaussians_are_refused():
    with pytest.raises(InputError, match="7 vectors for 8 Gaussians"):
        learn_mixture(make_sample(7, 3), 8, seed=0)
