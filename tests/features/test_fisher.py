import math

import numpy as np
import pytest
from scipy import sparse, stats

from tagsight.errors import InputError
from tagsight.features.codebook import Mixture
from tagsight.features.fisher import encode_regions

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
    """The textbook's sums, with explicit posteriors, for one region."""
    w, m, s = mixture.weights, mixture.means, np.sqrt(mixture.variances)
    by_mean, by_scale = np.zeros((K, D)), np.zeros((K, D))
    for x, share in zip(vectors, shares, strict=True):
        joint = [w[k] * np.prod(stats.norm.pdf(x, m[k], s[k])) for k in range(K)]
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
        scores = np.log(w[:, 0]) + stats.norm.logpdf(vectors[:, None], *parameters).sum(axis=2)
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


def test_what_does_not_fit_is_refused(vectors, weights, mixture):
    with pytest.raises(InputError, match=r"vectors \(39, 3\)"):
        encode_regions(vectors[:39], weights, mixture)
    with pytest.raises(InputError, match=r"means \(5, 3\)"):
        encode_regions(vectors[:, :2].copy(), weights, mixture)
