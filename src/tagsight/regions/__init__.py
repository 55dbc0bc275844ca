"""Photos to regions: contours, segmentation, adjacency, and maps from regions back to pixels."""

from tagsight.regions.contour import measure_contour
from tagsight.regions.graph import Adjacency, find_boxes, measure_adjacency
from tagsight.regions.hierarchy import cut_hierarchy
from tagsight.regions.paint import paint_regions, resize_map
from tagsight.regions.segment import Regions, segment_photo

__all__ = [
    "Adjacency",
    "Regions",
    "cut_hierarchy",
    "find_boxes",
    "measure_adjacency",
    "measure_contour",
    "paint_regions",
    "resize_map",
    "segment_photo",
]
