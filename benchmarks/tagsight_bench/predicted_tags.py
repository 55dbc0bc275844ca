"""Image tags of new photos from a linear SVM: what stands in for tags where 'predict' asks for them."""

from collections.abc import Sequence

import numpy as np
from sklearn.svm import LinearSVC

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array
from tagsight_bench.trial import Sample


def predict_objects(learn: Sample, photos: Sequence[PhotoFeatures], *, seed: int = 0) -> Array:
    """(I, K_o) of 0 and 1: an SVM per object on pooled features, classes balanced, decision above 0.

    A photo for which no decision is above 0 gets the highest one, so that it has a tag.
    """
    X, Z = pool_features(learn.photos), pool_features(photos)
    decisions = np.full((len(photos), learn.tags.objects.shape[1]), -np.inf)
    for o, tag in enumerate(learn.tags.objects.T):
        if 0 < tag.sum() < len(tag):
            machine = LinearSVC(class_weight="balanced", random_state=seed).fit(X, tag)
            decisions[:, o] = machine.decision_function(Z)
        elif tag.all():
            decisions[:, o] = np.inf
    return ((decisions > 0) | (decisions == decisions.max(axis=1, keepdims=True))).astype(np.uint8)


def pool_features(photos: Sequence[PhotoFeatures]) -> Array:
    """(I, D) mean of the regions' vectors weighted by their pixels, at unit length."""
    pooled = np.stack(
        [
            np.average(photo.features.astype(np.float32), axis=0, weights=np.bincount(photo.labels.ravel()))
            for photo in photos
        ]
    )
    return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), np.finfo(np.float32).tiny)
