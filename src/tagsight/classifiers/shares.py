"""What share of each kind has a property, when some kinds are few and the kinds may not differ at all.

Of n_o things of kind o, c_o have it. The shares p_o of the kinds are taken to come from one Beta distribution with mean
m and correlation r (of two things of one kind), so that the mean of p_o given the counts is

    p_o = (c_o + s m) / (n_o + s),        s = (1 - r) / r.

With N = sum n_o, m = sum c_o / N, and S = sum n_o (c_o / n_o - m)^2 over the K kinds that there are,

    E[S] = m (1 - m) ((1 - r) (K - 1) + r (N - sum n_o^2 / N)),

which is solved for r (Kleinman, JASA 1973). Kinds that differ no more than chance would have them all get the share m.
"""

import numpy as np

from tagsight.types import Floats, Ints

LEAST = 1e-3  # correlation, and what it lacks to 1: neither a kind nor the mean of all weighs nothing


def shrink_shares(count: Floats, n: Ints) -> Floats:
    """(K, A) the shares, from how many of each kind (K,) have each property: `count` (K, A)."""
    total = n.sum()
    if not total:
        return np.zeros_like(count)
    mean = count.sum(axis=0) / total
    prior = _measure_prior(count[n > 0], n[n > 0, None], mean)
    return (count + prior * mean) / (n[:, None] + prior)


def _measure_prior(count: Floats, n: Ints, mean: Floats) -> Floats:
    """(A,) s: how many things of a kind weigh as much as all the other kinds."""
    chance = mean * (1.0 - mean)
    spread = np.sum(n * (count / n - mean) ** 2, axis=0) / np.where(chance > 0, chance, 1.0)
    by_chance = len(n) - 1.0
    room = n.sum() - np.sum(n**2) / n.sum() - by_chance
    alike = np.clip((spread - by_chance) / room, LEAST, 1.0 - LEAST) if room > 0 else LEAST
    return np.broadcast_to((1.0 - alike) / alike, mean.shape)
