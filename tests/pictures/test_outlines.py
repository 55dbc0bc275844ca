"""Outlines follow the edges of a mask, at the scale of the photo."""

import numpy as np

from tagsight.pictures.outlines import Ring, draw_path, draw_svg, outline_mask, outline_regions


def area(rings: list[Ring]) -> float:
    """Signed area; a hole runs in the other direction."""
    total = 0.0
    for ring in rings:
        x, y = np.array(ring).T
        total += 0.5 * (np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    return abs(total)


def test_a_rectangle_is_outlined_a_quarter_of_a_pixel_inside() -> None:
    mask = np.zeros((20, 30), bool)
    mask[4:10, 5:25] = True
    (ring,) = outline_mask(mask, (60, 40))
    assert sorted(ring) == sorted([(10.5, 8.5), (10.5, 19.5), (49.5, 19.5), (49.5, 8.5)])


def test_a_hole_is_a_separate_ring() -> None:
    mask = np.ones((40, 40), bool)
    mask[10:30, 10:30] = False
    rings = outline_mask(mask, (40, 40))
    assert len(rings) == 2
    assert abs(area(rings) - mask.sum()) < 80
    assert draw_path(rings).count("M") == draw_path(rings).count("Z") == 2


def test_outlines_of_regions_have_the_position_of_the_regions() -> None:
    labels = np.zeros((24, 36), np.int32)
    labels[:, 20:] = 1
    labels[12:, 20:] = 2
    outlines = outline_regions(labels, (72, 48))
    assert [len(rings) for rings in outlines] == [1, 1, 1]
    for region, rings in enumerate(outlines):
        y, x = (labels == region).nonzero()
        points = np.array(rings[0])
        assert np.abs(points.min(axis=0) - (2 * x.min(), 2 * y.min())).max() <= 0.5
        assert np.abs(points.max(axis=0) - (2 * x.max() + 2, 2 * y.max() + 2)).max() <= 0.5


def test_an_svg_has_the_photo_s_size() -> None:
    svg = draw_svg([[(0.0, 0.0), (3.5, 0.0), (0.0, 2.0)]], (30, 20))
    assert 'viewBox="0 0 30 20" width="30" height="20"' in svg
    assert svg.count('d="M0,0L3.5,0L0,2Z"') == 2
