"""A curve drawn as SVG, without a plotting library."""

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT, MARGIN = 640, 220, 12


def draw_curve(values: Sequence[float]) -> Markup:
    """The values from left to right, scaled to the size of the picture."""
    low, high = min(values), max(values)
    step = (WIDTH - 2 * MARGIN) / max(len(values) - 1, 1)
    scale = (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    points = " ".join(
        f"{MARGIN + step * i:.1f},{HEIGHT - MARGIN - scale * (value - low):.1f}" for i, value in enumerate(values)
    )
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="The bound after each of {} sweeps, from {:.0f} to {:.0f}">'
        '<polyline points="{}" fill="none" stroke="currentColor" stroke-width="2"/></svg>'
    ).format(WIDTH, HEIGHT, len(values), values[0], values[-1], points)
