"""The outline of a mask as polygons along the sides of its pixels, which is exact.

Coordinates are corners of pixels: the pixel in column 3 lies between x = 3 and x = 4. A corner belongs to the outline
if one or three of the four pixels around it are on, or two across a diagonal; the latter corners count twice, since
pixels that only touch at a corner are not joined. Corners sorted by row are in pairs the ends of horizontal sides, and
sorted by column those of vertical sides. So a ring is followed by alternating between the two pairings.
"""

from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Ints


class Rings(NamedTuple):
    """Closed chains of corners (n, 2) of x, y: clockwise on the screen around pieces, counterclockwise around holes."""

    outer: list[Ints]
    holes: list[Ints]


def trace_polygons(mask: Array, origin: tuple[int, int] = (0, 0)) -> list[Ints]:
    """One polygon (n, 2) for each piece of a mask (H, W); slits of width 0 lead to its holes.

    Filled by either rule, even-odd or winding, the polygons give the mask. `origin` is the position of the corner of
    the mask in its photo.
    """
    polygons, holes = trace_rings(mask)
    for hole in holes:
        x, y = hole[0]
        # The pixels left of a hole's first corner are on, up to a ring that is before this one.
        edge = int(np.flatnonzero(np.append(~mask[y, :x][::-1], True))[0])
        place = (x - edge, y)
        n, side = next((n, s) for n, ring in enumerate(polygons) if (s := _find_side(ring, place)) is not None)
        slit = np.array([place])  # the hole's last side leads through its first corner to the way back
        ring = polygons[n]
        polygons[n] = np.concatenate([ring[: side + 1], slit, hole, slit, ring[side + 1 :]])
    return [_drop_repeated(ring) + np.array(origin) for ring in polygons]


def trace_rings(mask: Array) -> Rings:
    """The rings of a mask (H, W) in the order of their first corners, row by row."""
    padded = np.pad(mask, 1)
    a, b, c, d = padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]
    falling, rising = a & d & ~b & ~c, b & c & ~a & ~d
    y, x = np.nonzero((a ^ b ^ c ^ d) | falling | rising)
    copies = 1 + (falling | rising)[y, x]
    # The first copy of a corner across a diagonal ends the side from the left, the second begins the side to the right.
    second = np.repeat(copies, copies) == 2
    second[np.cumsum(copies) - copies] = False
    y, x = np.repeat(y, copies), np.repeat(x, copies)
    across = _pair_up(np.lexsort((second, x, y)))
    along = _pair_up(np.lexsort((second ^ rising[y, x], y, x)))
    corners = np.stack([x, y], axis=1).astype(np.int64)
    rings = Rings([], [])
    for chain in _follow_rings(across, along):
        ring = corners[chain]
        if d[y[chain[0]], x[chain[0]]]:
            rings.outer.append(ring)
        else:
            rings.holes.append(np.roll(ring[::-1], 1, axis=0))
    return rings


def _pair_up(order: Array) -> list[int]:
    partner = np.empty_like(order)
    partner[order[0::2]], partner[order[1::2]] = order[1::2], order[0::2]
    return partner.tolist()


def _follow_rings(across: list[int], along: list[int]) -> list[list[int]]:
    """Chains of corners, each starting with a horizontal side."""
    visited = [False] * len(across)
    chains: list[list[int]] = []
    for start in range(len(across)):
        if visited[start]:
            continue
        chain: list[int] = []
        corner = start
        while not visited[corner]:
            turn = across[corner]
            chain += [corner, turn]
            visited[corner] = visited[turn] = True
            corner = along[turn]
        chains.append(chain)
    return chains


def _find_side(ring: Ints, place: tuple[int, int]) -> int | None:
    """The number of the vertical side of the ring that contains the pixel side from `place` downwards; or None."""
    (x, y), after = place, np.roll(ring, -1, axis=0)
    top, bottom = np.minimum(ring[:, 1], after[:, 1]), np.maximum(ring[:, 1], after[:, 1])
    found = np.flatnonzero((ring[:, 0] == x) & (after[:, 0] == x) & (top <= y) & (y < bottom))
    return int(found[0]) if len(found) else None


def _drop_repeated(ring: Ints) -> Ints:
    return ring[np.any(ring != np.roll(ring, 1, axis=0), axis=1)]
