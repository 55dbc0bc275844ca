"""Scalar special functions for compiled kernels."""

import math

from tagsight.runtime.kernels import kernel


@kernel()
def digamma(x: float) -> float:
    """Return psi(x) for x > 0: recurrence up to 8, two steps at a time, then the asymptotic series (error < 1e-12)."""
    value = 0.0
    while x < 8.0:
        value += (2.0 * x + 1.0) / (x * (x + 1.0))
        x += 2.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760))))))
    return math.log(x) - 0.5 / x - series - value


@kernel()
def log_beta(a: float, b: float) -> float:
    """Return log B(a, b)."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@kernel()
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b)); either may be -inf."""
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + math.log1p(math.exp(b - a))
