"""The attribute prior P(a | o): which attributes an object has, estimated from the tags of whole photos.

**Attribute support.** A photo of a furry horse and a metal car has all four tags, so raw co-occurrence would make
cars furry. Instead, the tags of each attribute are regressed on the objects of the photos,

    tag_a(i)  ~  sum_o P_oa tag_o(i) + rest_a,     P, rest >= 0,

so that an attribute explained by the car is not attributed to the horse as well.

**Shrinkage.** Of n_o located objects of class o, c_o have an attribute. The rates p_o of the classes are assumed to
come from one Beta distribution with mean m and intra-class correlation r. The posterior mean of p_o is then

    p_o = (c_o + s m) / (n_o + s),        s = (1 - r) / r.

With N = sum n_o, m = sum c_o / N and S = sum n_o (c_o / n_o - m)^2 over the K classes with n_o > 0,

    E[S] = m (1 - m) ((1 - r) (K - 1) + r (N - sum n_o^2 / N)),

which is solved for r (Kleinman, JASA 1973). Classes that differ no more than by chance all get the rate m.
"""

import numpy as np
from scipy.optimize import nnls

from tagsight.types import Array, Floats, Ints

MIN_CORRELATION = 1e-3  # also the minimum of 1 - r: keeps s finite and above zero


def estimate_attribute_support(objects: Array, attributes: Array) -> Floats:
    """(K_o, K_a) support P of each attribute by each object, from tags (I, K_o) and (I, K_a)."""
    design = np.hstack([objects, np.ones((len(objects), 1))]).astype(np.float64)
    support = np.zeros((objects.shape[1], attributes.shape[1]))
    for a in range(attributes.shape[1]):
        support[:, a] = nnls(design, attributes[:, a].astype(np.float64))[0][:-1]
    return np.minimum(support, 1.0)


def shrink_rates(count: Floats, n: Ints) -> Floats:
    """(K, A) rates p, from `count` (K, A) objects of each class with each attribute, out of `n` (K,)."""
    total = n.sum()
    if not total:
        return np.zeros_like(count)
    mean = count.sum(axis=0) / total
    prior = _estimate_prior_size(count[n > 0], n[n > 0, None], mean)
    return (count + prior * mean) / (n[:, None] + prior)


def _estimate_prior_size(count: Floats, n: Ints, mean: Floats) -> Floats:
    """(A,) s: the number of objects that the mean rate counts for."""
    variance = mean * (1.0 - mean)
    scatter = np.sum(n * (count / n - mean) ** 2, axis=0) / np.where(variance > 0, variance, 1.0)
    by_chance = len(n) - 1.0
    excess = n.sum() - np.sum(n**2) / n.sum() - by_chance
    correlation = MIN_CORRELATION
    if excess > 0:
        correlation = np.clip((scatter - by_chance) / excess, MIN_CORRELATION, 1.0 - MIN_CORRELATION)
    return np.broadcast_to((1.0 - correlation) / correlation, mean.shape)
