"""Special functions inside Triton kernels, in double precision, and sums along runs of equal segments."""

# pyright: standard, reportMissingImports=false

import triton
import triton.language as tl

HALF_LOG_2PI = tl.constexpr(0.9189385332046727)


@triton.jit
def digamma_and_log_gamma(x):
    """Return psi(x) and log Gamma(x) for x > 0: eight steps of the recurrence, then the asymptotic series.

    The error is below 1e-12.
    """
    numerator = x * 0.0
    denominator = numerator + 1.0
    y = x
    for _ in tl.static_range(8):  # sum of 1 / y as one fraction, which needs only one division
        numerator = numerator * y + denominator
        denominator = denominator * y
        y = y + 1.0
    inverse = 1.0 / y
    r = inverse * inverse
    log_y = tl.log(y)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760))))))
    psi = log_y - 0.5 * inverse - series - numerator / denominator
    series = inverse * (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188 - r * (691 / 360360))))))
    log_gamma = (y - 0.5) * log_y - y + HALF_LOG_2PI + series - tl.log(denominator)
    return psi, log_gamma


@triton.jit
def _add(segment_a, a, segment_b, b):
    return segment_b, tl.where(segment_a == segment_b, a + b, b)


@triton.jit
def running_sum(segment, value, BACKWARD: tl.constexpr):
    """Return the cumulative sums within each run of equal `segment`, from its start or, if BACKWARD, from its end."""
    _, total = tl.associative_scan((segment, value), 0, _add, reverse=BACKWARD)
    return total
