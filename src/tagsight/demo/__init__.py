"""A collection that the package renders itself: scenes of painted objects, with the ground truth."""

from tagsight.demo.render import HIDDEN_ATTRIBUTE, render_collection
from tagsight.demo.truth import (
    Instance,
    PhotoTruth,
    Truth,
    read_classes,
    read_instances,
    read_truth,
)

__all__ = [
    "HIDDEN_ATTRIBUTE",
    "Instance",
    "PhotoTruth",
    "Truth",
    "read_classes",
    "read_instances",
    "read_truth",
    "render_collection",
]
