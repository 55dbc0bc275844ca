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
    objects = np.where(prediction.objects < threshold, 0.0, prediction.objects)
    return refine_probabilities(photo, add_background(objects), pixels)


def refine_probabilities(photo: PhotoFeatures, probability: Array, pixels: Array) -> Array:
    """(H, W) uint8 labels from `probability` (R, L) of background and objects, on any positive scale."""
    normalised = probability / np.maximum(probability.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    refined = refine_labels(paint_regions(normalised, photo.labels), pixels)
    return resize_map(refined.astype(np.uint8), photo.size)


def label_regions(objects: Floats, *, threshold: float = 0.0) -> Ints:
    """(R,) 0 background, 1.. objects: the most probable label, if its probability is at least `threshold`."""
    return choose_labels(objects).apply_threshold(threshold)
