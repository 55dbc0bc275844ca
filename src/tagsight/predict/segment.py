"""The segmentation of a photo into its objects."""

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.predictor import Prediction
from tagsight.predict.probabilities import add_background, choose_labels
from tagsight.regions import paint_regions, resize_map
from tagsight.regions.dense_crf import refine_labels
from tagsight.types import Array, Floats, Ints


def segment_objects(photo: PhotoFeatures, prediction: Prediction, *, threshold: float = 0.0) -> Array:
    """(H, W) uint8 at the size of the whole photo: 0 background, 1.. objects in the model's order."""
    values = label_regions(prediction.objects, threshold=threshold).astype(np.uint8)
    return resize_map(paint_regions(values, photo.labels), photo.size)


def refine_objects(photo: PhotoFeatures, prediction: Prediction, pixels: Array, *, threshold: float = 0.0) -> Array:
    """As `segment_objects`, with edges moved to those of RGB `pixels` at the scale of analysis by a dense CRF."""
    return refine_probabilities(photo, remove_improbable(prediction.objects, threshold), pixels)


def remove_improbable(objects: Floats, threshold: float) -> Floats:
    """(R, 1 + K_o) probabilities of background and of objects, 0 for objects that are less probable than `threshold`.

    The most probable label of a region is that of `label_regions`. A region without an object is background.
    """
    probable = np.where(objects < threshold, 0.0, objects)
    background = np.where(probable.any(axis=1), add_background(objects)[:, 0], 1.0)
    return np.column_stack([background, probable])


def refine_probabilities(photo: PhotoFeatures, probability: Array, pixels: Array) -> Array:
    """(H, W) uint8 labels from `probability` (R, L) of background and objects, on any positive scale."""
    normalised = probability / np.maximum(probability.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    refined = refine_labels(paint_regions(normalised, photo.labels), pixels)
    return resize_map(refined.astype(np.uint8), photo.size)


def label_regions(objects: Floats, *, threshold: float = 0.0) -> Ints:
    """(R,) 0 background, 1.. objects: the most probable label, if its probability is at least `threshold`."""
    return choose_labels(objects).apply_threshold(threshold)
