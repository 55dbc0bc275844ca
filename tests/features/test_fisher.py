"""Fisher vectors and their mixture, against textbook sums."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from tests.features.samples import make_sample

from tagsight.errors import InputError
from tagsight.features.fisher import CHUNK, Mixture, compute_responsibilities, encode_regions, learn_mixture

K, D = 5, 3


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    return Mixture(
        rng.dirichlet(np.full(K, 4.0)).astype(np.float32),
        rng.normal(size=(K, D)).astype(np.float32),
        rng.uniform(0.3, 2, (K, D)).astype(np.float32),
    )


@pytest.fixture
def vectors():
    return np.random.default_rng(1).normal(size=(40, D)).astype(np.float32)


@pytest.fixture
def weights():
    """Four regions that share descriptors; the last has one."""
    rng = np.random.default_rng(2)
    shares = rng.uniform(size=(4, 40)) * (rng.uniform(size=(4, 40)) < 0.4)
    shares[3] = np.arange(40) == 17
    return sparse.csr_array((shares / shares.sum(axis=1, keepdims=True)).astype(np.float32))


def encode_by_loop(vectors, shares, mixture):
    """The Fisher vector of one region by the textbook's sums, with explicit posteriors."""
    w, m, s = mixture.weights, mixture.means, np.sqrt(mixture.variances)
    by_mean, by_scale = np.zeros((K, D)), np.zeros((K, D))
    for x, share in zip(vectors, shares, strict=True):
        joint = [w[k] * np.prod(norm.pdf(x, m[k], s[k])) for k in range(K)]
        for k in range(K):
            posterior = joint[k] / sum(joint)
            for d in range(D):
                u = (x[d] - m[k, d]) / s[k, d]
                by_mean[k, d] += share * posterior * u / math.sqrt(w[k])
                by_scale[k, d] += share * posterior * (u * u - 1) / math.sqrt(2 * w[k])
    gradient = np.concatenate([by_mean.ravel(), by_scale.ravel()])
    roots = np.sign(gradient) * np.sqrt(np.abs(gradient))
    return roots / np.linalg.norm(roots)


def test_vectors_agree_with_the_textbook(vectors, weights, mixture):
    found = encode_regions(vectors, weights, mixture)
    assert found.shape == (4, 2 * K * D)
    assert found.dtype == np.float32
    for row, shares in zip(found, weights.toarray(), strict=True):
        np.testing.assert_allclose(row, encode_by_loop(vectors, shares, mixture), atol=2e-3)


def test_a_vector_is_the_gradient_of_the_likelihood_scaled_by_the_fisher_information(vectors, weights, mixture):
    """With information w / s^2 for a mean and 2 w / s^2 for a scale; derivatives by small differences."""
    shares = weights.toarray()[0].astype(float)
    w = mixture.weights.astype(float)[:, None]
    start = np.stack([mixture.means, np.sqrt(mixture.variances)]).astype(float)

    def likelihood(parameters):
        scores = np.log(w[:, 0]) + norm.logpdf(vectors[:, None], *parameters).sum(axis=2)
        return shares @ np.logaddexp.reduce(scores, axis=1)

    slopes = np.zeros_like(start)
    for index in np.ndindex(start.shape):
        step = np.zeros_like(start)
        step[index] = 1e-5
        slopes[index] = (likelihood(start + step) - likelihood(start - step)) / 2e-5
    gradient = (slopes * start[1] / np.sqrt(np.stack([w, 2 * w]))).ravel()
    found = encode_regions(vectors, weights, mixture)[0].astype(float)
    squares = np.sign(found) * found**2
    np.testing.assert_allclose(squares, gradient / np.abs(gradient).sum(), atol=1e-4)


def test_vectors_have_unit_length_and_do_not_depend_on_the_other_regions(vectors, weights, mixture):
    found = encode_regions(vectors, weights, mixture)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    for region in range(4):
        alone = encode_regions(vectors, weights[[region]], mixture)
        np.testing.assert_array_equal(alone[0], found[region])


def test_a_region_with_each_descriptor_twice_has_the_same_vector(vectors, weights, mixture):
    doubled = sparse.csr_array(sparse.hstack([weights / 2, weights / 2]))
    found = encode_regions(np.concatenate([vectors, vectors]), doubled, mixture)
    np.testing.assert_allclose(found, encode_regions(vectors, weights, mixture), atol=1e-3)


def test_a_region_without_descriptors_is_zero(vectors, mixture):
    assert not encode_regions(vectors, sparse.csr_array((2, 40), dtype=np.float32), mixture).any()


def test_vectors_that_do_not_fit_weights_or_mixture_are_refused(vectors, weights, mixture):
    with pytest.raises(InputError, match=r"vectors \(39, 3\)"):
        encode_regions(vectors[:39], weights, mixture)
    with pytest.raises(InputError, match=r"means \(5, 3\)"):
        encode_regions(vectors[:, :2].copy(), weights, mixture)


def score(sample, mixture):
    """(n, K): log w_k N(x_n; m_k, s_k^2)."""
    densities = norm.logpdf(sample[:, None], mixture.means, np.sqrt(mixture.variances))
    return np.log(mixture.weights) + densities.sum(axis=2)


def test_responsibilities_are_posterior_probabilities_across_chunks():
    sample = make_sample(CHUNK + 50, 6)
    rng = np.random.default_rng(1)
    mixture = Mixture(
        rng.dirichlet(np.ones(5)).astype(np.float32),
        rng.normal(size=(5, 6)).astype(np.float32),
        rng.uniform(0.5, 3, (5, 6)).astype(np.float32),
    )
    powers, responsibilities = (
        np.concatenate(parts) for parts in zip(*compute_responsibilities(sample, mixture), strict=True)
    )
    scores = score(sample, mixture)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(responsibilities, expected / expected.sum(axis=1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(powers, np.hstack([sample, sample**2]), rtol=1e-6)


def test_planted_gaussians_are_found():
    rng = np.random.default_rng(2)
    means = np.array([[0, 0], [8, 0], [0, 9]])
    scales = np.array([[1, 0.6], [0.6, 1.5], [1, 1]])
    components = rng.choice(3, 6000, p=[0.2, 0.5, 0.3])
    sample = (means[components] + scales[components] * rng.normal(size=(6000, 2))).astype(np.float32)
    mixture = learn_mixture(sample, 3, seed=0)
    order = [np.linalg.norm(mixture.means - mean, axis=1).argmin() for mean in means]
    np.testing.assert_allclose(mixture.weights[order], [0.2, 0.5, 0.3], atol=0.02)
    np.testing.assert_allclose(mixture.means[order], means, atol=0.1)
    np.testing.assert_allclose(np.sqrt(mixture.variances[order]), scales, rtol=0.05)


def test_no_round_of_em_lowers_the_likelihood():
    sample = make_sample(800, 4)
    likelihoods = []
    for rounds in range(12):
        scores = score(sample, learn_mixture(sample, 6, seed=3, rounds=rounds))
        likelihoods.append(np.logaddexp.reduce(scores, axis=1).mean())
    assert np.diff(likelihoods).min() > -1e-4
    assert likelihoods[-1] > likelihoods[0] + 0.05


def test_the_mixture_depends_on_the_seed_alone():
    sample = make_sample(500, 5)
    one, again, other = (learn_mixture(sample, 8, seed=seed) for seed in (4, 4, 5))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, again, strict=True))
    assert one.means.tobytes() != other.means.tobytes()


def test_equal_vectors_give_finite_gaussians():
    mixture = learn_mixture(np.full((40, 3), 0.25, np.float32), 8, seed=0)
    assert all(np.isfinite(part).all() for part in mixture)
    assert mixture.weights.min() > 0
    np.testing.assert_allclose(mixture.weights.sum(), 1, rtol=1e-6)


def test_fewer_vectors_than_gaussians_are_refused():
    with pytest.raises(InputError, match="7 vectors for 8 Gaussians"):
        learn_mixture(make_sample(7, 3), 8, seed=0)
