"""Special functions against SciPy over all magnitudes that occur in training."""

import math

import numpy as np
import pytest
from scipy import special

from tagsight.model.numerics import digamma, log_add, log_beta

GRID = np.concatenate([np.geomspace(1e-6, 1e9, 400), np.linspace(0.5, 20, 200), [1.4616321449683622]])


def test_digamma():
    ours = np.array([digamma(x) for x in GRID])
    assert ours == pytest.approx(special.digamma(GRID), rel=1e-12, abs=2e-12)


def test_log_beta():
    points = GRID[(GRID > 1e-4) & (GRID < 1e5)][::17]
    assert len(points) > 5
    for a in points:
        ours = np.array([log_beta(a, b) for b in points])
        assert ours == pytest.approx(special.betaln(a, points), rel=1e-9, abs=1e-8)


def test_log_add():
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(-800, 800, (200, 2)):
        assert log_add(a, b) == pytest.approx(np.logaddexp(a, b), rel=1e-14)
        assert log_add(a, b) == log_add(b, a)


def test_log_add_with_minus_infinity():
    assert log_add(-math.inf, 3.0) == 3.0
    assert log_add(3.0, -math.inf) == 3.0
    assert log_add(-math.inf, -math.inf) == -math.inf
