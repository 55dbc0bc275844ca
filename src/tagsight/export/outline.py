"""The outline of a mask as polygons along the sides of its pixels: exact, also around one pixel.

Coordinates are corners: the pixel in column 3 lies between x = 3 and x = 4. A corner belongs to the outline where
one or three of the four pixels around it are on, or two across a diagonal; the latter counts twice, and pixels
that touch at a corner alone are not joined. Sorted by row, corners are the ends of horizontal sides two by two;
sorted by column, of vertical ones: so every ring is walked by turning at each corner.
"""

from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Ints


class Rings(NamedTuple):
    """Closed chains of corners (n, 2) of x, y: around pieces clockwise as seen, around holes the other way."""

    outer: list[Ints]
    holes: list[Ints]


def trace_polygons(mask: Array, origin: tuple[int, int] = (0, 0)) -> list[Ints]:
    """One polygon (n, 2) for each piece of a mask (H, W); a slit without width leads to each of its holes.

    Filled by either rule, even-odd or winding, the polygons give the mask. `origin` is the corner at which the
    mask lies in its photo.
    """
    polygons, holes = trace_rings(mask)
    for hole in holes:
        x, y = hole[0]
        # The pixels left of a hole's first corner are on, as far as some ring that was walked before this one.
        edge = int(np.flatnonzero(np.append(~mask[y, :x][::-1], True))[0])
        place = (x - edge, y)
        n, side = next((n, s) for n, ring in enumerate(polygons) if (s := _find_side(ring, place)) is not None)
        slit = np.array([place])  # the way back starts along the hole's last side, through its first corner
        ring = polygons[n]
        polygons[n] = np.concatenate([ring[: side + 1], slit, hole, slit, ring[side + 1 :]])
    return [_drop_repeated(ring) + np.array(origin) for ring in polygons]


def trace_rings(mask: Array) -> Rings:
    """The rings of a mask (H, W) in the order of their first corners, row by row; a ring starts at its first."""
    padded = np.pad(mask, 1)
    a, b, c, d = padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]
    falling, rising = a & d & ~b & ~c, b & c & ~a & ~d
    y, x = np.nonzero((a ^ b ^ c ^ d) | falling | rising)
    copies = 1 + (falling | rising)[y, x]
    # Of a corner across a diagonal, the first copy ends the side from the left, the second begins that to the right.
    second = np.repeat(copies, copies) == 2
    second[np.cumsum(copies) - copies] = False
    y, x = np.repeat(y, copies), np.repeat(x, copies)
    across = _pair_up(np.lexsort((second, x, y)))
    along = _pair_up(np.lexsort((second ^ rising[y, x], y, x)))
    corners = np.stack([x, y], axis=1).astype(np.int64)
    rings = Rings([], [])
    for chain in _walk(across, along):
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


def _walk(across: list[int], along: list[int]) -> list[list[int]]:
    """Chains of corners, horizontal side first."""
    walked = [False] * len(across)
    chains: list[list[int]] = []
    for start in range(len(across)):
        if walked[start]:
            continue
        chain: list[int] = []
        corner = start
        while not walked[corner]:
            turn = across[corner]
            chain += [corner, turn]
            walked[corner] = walked[turn] = True
            corner = along[turn]
        chains.append(chain)
    return chains


def _find_side(ring: Ints, place: tuple[int, int]) -> int | None:
    """The number of the vertical side that has the pixel side from `place` downwards in it."""
    (x, y), after = place, np.roll(ring, -1, axis=0)
    top, bottom = np.minimum(ring[:, 1], after[:, 1]), np.maximum(ring[:, 1], after[:, 1])
    found = np.flatnonzero((ring[:, 0] == x) & (after[:, 0] == x) & (top <= y) & (y < bottom))
    return int(found[0]) if len(found) else None


def _drop_repeated(ring: Ints) -> Ints:
    return ring[np.any(ring != np.roll(ring, 1, axis=0), axis=1)]
