"""Regions from contours: watershed, ultrametric contour map, cut (Arbelaez et al., TPAMI 2011).

1. The watershed of the contour map gives basins, each around a minimum, and their adjacency graph. The contrast of the
   boundary between two basins is the mean contour along it.
2. Average linkage merges across the boundary of least contrast first; boundaries that join are weighted by their
   length. The merges form a binary tree: merge m joins sides of areas a_m and b_m across one edge of a spanning tree of
   the basins, at contrast h_m. Cutting the tree at a height removes the edges whose h_m is above it.
3. The cut is made on

       h_m min(a_m, b_m)^BALANCE,   or 0 where min(a_m, b_m) < MIN_SHARE * pixels / n,

   and the n - 1 largest positive edges are removed. Height alone would make most regions small spots with sharp
   contours. A side below the minimum area is never separated, so every region of the cut has at least that area.

BALANCE and MIN_SHARE were chosen by the best-label ceiling (benchmarks/regions.py) on the training photos of aPascal's
segmentation split. Unlike the article, contours are not weighted by their orientation.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagsight.types import Array


def _import_higra() -> ModuleType:
    """Import higra without pyplot, which it imports for drawing functions that are not used here.

    Importing pyplot takes most of a second and needs a writable home folder; higra works without it.
    """
    modules = cast(dict[str, Any], sys.modules)
    hidden = "matplotlib" not in modules
    if hidden:
        modules["matplotlib"] = None  # importing it fails
    try:
        import higra
    finally:
        if hidden:
            del modules["matplotlib"]
    return higra


if TYPE_CHECKING:
    import higra as hg
else:
    hg = _import_higra()

BALANCE = 0.75
MIN_SHARE = 0.1


def cut_hierarchy(contour: Array, n_regions: int) -> Array:
    """(h, w) int32 labels 0..R-1 of connected regions, R <= `n_regions`, from a contour map (h, w).

    R is smaller where the contours do not separate so many regions of the minimum area.
    """
    if contour.size == 1:
        return np.zeros(contour.shape, np.int32)
    grid = hg.get_4_adjacency_graph(contour.shape)
    basins, contrast = hg.oriented_watershed(
        grid, hg.weight_graph(grid, contour, hg.WeightFunction.mean), contour.shape
    )
    basin_of = hg.CptRegionAdjacencyGraph.construct(basins)["vertex_map"]
    count = basins.num_vertices()
    if count == 1:
        return np.zeros(contour.shape, np.int32)
    linkage, level = hg.binary_partition_tree_average_linkage(basins, contrast, hg.attribute_edge_length(basins))
    # Linkage does not return the frontier that a merge crossed; it is an edge of the spanning tree of the saliency map.
    saliency = hg.saliency(linkage, level, basins, handle_rag=False)
    tree, height = hg.bpt_canonical(basins, saliency)
    smaller_area = hg.accumulate_parallel(tree, hg.attribute_area(tree), hg.Accumulators.min)[count:]
    priority = height[count:] * smaller_area**BALANCE
    priority[smaller_area < MIN_SHARE * contour.size / n_regions] = 0
    joined = _keep_joined(priority, n_regions)
    source, target = hg.CptBinaryHierarchy.get_mst(tree).edge_list()
    joins = coo_array((np.ones(joined.sum()), (source[joined], target[joined])), (count, count))
    _, region_of = connected_components(joins, directed=False)
    return region_of[basin_of].reshape(contour.shape).astype(np.int32)


def _keep_joined(priority: Array, n_regions: int) -> Array:
    """(M,) whether each edge of the spanning tree stays: all but the n - 1 of largest priority, earlier ones first."""
    removed = np.argsort(-priority, kind="stable")[: n_regions - 1]
    joined = np.ones(len(priority), bool)
    joined[removed[priority[removed] > 0]] = False
    return joined
