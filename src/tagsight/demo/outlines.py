"""Closed outlines as points (P, 2), x to the right and y down, and operations on them."""

import numpy as np
from scipy.interpolate import CubicSpline

from tagsight.types import Array


def polygon(*points: tuple[float, float]) -> Array:
    """An outline with straight sides."""
    return np.array(points, np.float64)


def curve(*points: tuple[float, float]) -> Array:
    """A smooth closed line through the points."""
    knots = np.array([*points, points[0]], np.float64)
    lengths = np.sqrt(np.linalg.norm(np.diff(knots, axis=0), axis=1))
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    return CubicSpline(along, knots, bc_type="periodic")(np.linspace(0, float(along[-1]), 12 * len(points) + 1)[:-1])


def ellipse(x: float, y: float, across: float, down: float) -> Array:
    """An ellipse with centre (x, y) and the two half axes."""
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    return np.stack([x + across * np.cos(angles), y + down * np.sin(angles)], axis=1)


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Array:
    """An upright rectangle."""
    return polygon((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def cut_jagged(outline: Array, tooth: float) -> Array:
    """The outline cut in a zigzag, with teeth about `tooth` wide and two thirds as deep."""
    closed = np.vstack([outline, outline[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    count = 2 * max(3, round(along[-1] / tooth))
    at = np.linspace(0, float(along[-1]), count, endpoint=False)
    points = np.stack([np.interp(at, along, closed[:, axis]) for axis in (0, 1)], axis=1)
    run = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    normal = np.stack([run[:, 1], -run[:, 0]], axis=1) / (np.linalg.norm(run, axis=1, keepdims=True) + 1e-9)
    return points + normal * np.where(np.arange(count) % 2, 1.0, -1.0)[:, None] * tooth / 3
