"""Object tags of new photos predicted by a linear SVM, for the task 'predict'."""

from collections.abc import Sequence

import numpy as np
from sklearn.svm import LinearSVC

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array
from tagsight_bench.trial import Sample


def predict_objects(train: Sample, photos: Sequence[PhotoFeatures], *, seed: int = 0) -> Array:
    """(I, K_o) of 0 and 1: one SVM per object on pooled features, with balanced classes; 1 if its decision is above 0.

    A photo for which no decision is above 0 gets the object with the highest one, so that it has a tag.
    """
    X, Z = pool_features(train.photos), pool_features(photos)
    decisions = np.full((len(photos), train.tags.objects.shape[1]), -np.inf)
    for o, tag in enumerate(train.tags.objects.T):
        if 0 < tag.sum() < len(tag):
            machine = LinearSVC(class_weight="balanced", random_state=seed).fit(X, tag)
            decisions[:, o] = machine.decision_function(Z)
        elif tag.all():
            decisions[:, o] = np.inf
    return ((decisions > 0) | (decisions == decisions.max(axis=1, keepdims=True))).astype(np.uint8)


def pool_features(photos: Sequence[PhotoFeatures]) -> Array:
    """(I, D) area-weighted mean of the vectors of the regions, at unit length."""
    pooled = np.stack(
        [
            np.average(photo.features.astype(np.float32), axis=0, weights=np.bincount(photo.labels.ravel()))
            for photo in photos
        ]
    )
    return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), np.finfo(np.float32).tiny)
