"""Outlines are exact: filled by either rule they give the mask, and pieces are its connected components."""

import numpy as np
import pytest
from hypothesis import example, given
from numpy.testing import assert_array_equal
from scipy import ndimage

from tagsight.export.outline import trace_polygons, trace_rings
from tagsight.types import Array

from .made import AWKWARD, fill_polygons, masks


@given(masks)
@example(np.eye(5, dtype=bool))
@example(~np.eye(5, dtype=bool))
@example(np.indices((7, 8)).sum(axis=0) % 2 == 0)
def test_filled_polygons_are_the_mask(mask: Array) -> None:
    assert_array_equal(fill_polygons(list(trace_polygons(mask)), mask.shape), mask)


@given(masks)
def test_pieces_are_joined_by_sides_and_holes_by_corners(mask: Array) -> None:
    rings = trace_rings(mask)
    assert len(rings.outer) == ndimage.label(mask)[1]
    background = np.pad(~mask, 1, constant_values=True)
    assert len(rings.holes) == ndimage.label(background, np.ones((3, 3)))[1] - 1


@given(masks)
def test_sides_are_straight_and_signed_areas_add_up(mask: Array) -> None:
    polygons = trace_polygons(mask)
    for polygon in polygons:
        steps = np.roll(polygon, -1, axis=0) - polygon
        assert np.all((steps == 0).sum(axis=1) == 1)  # no corner twice in a row, no slanted side
    assert sum(measure_area(polygon) for polygon in polygons) == mask.sum()


def measure_area(polygon: Array) -> float:
    """Signed area: positive if clockwise on the screen, y downwards."""
    (x, y), (after_x, after_y) = polygon.T, np.roll(polygon, -1, axis=0).T
    return float((x * after_y - after_x * y).sum() / 2)


def test_one_pixel_is_a_square() -> None:
    (polygon,) = trace_polygons(np.ones((1, 1), bool), (7, 3))
    assert polygon.tolist() == [[7, 3], [8, 3], [8, 4], [7, 4]]


@pytest.mark.parametrize(
    ("name", "n_outer", "n_holes"), [("ring", 1, 1), ("detached", 4, 0), ("one pixel", 1, 0), ("ring in ring", 2, 1)]
)
def test_rings_are_counted(name: str, n_outer: int, n_holes: int) -> None:
    rings = trace_rings(AWKWARD[name] > 0)
    assert (len(rings.outer), len(rings.holes)) == (n_outer, n_holes)
    assert all(measure_area(ring) > 0 for ring in rings.outer)
    assert all(measure_area(ring) < 0 for ring in rings.holes)
