"""Object classifiers adapted to the untagged regions of new photos."""

import numpy as np
from numpy.testing import assert_allclose

from tagsight.classifiers.attributes import AttributeClassifier
from tagsight.classifiers.fit import adapt_classifiers
from tagsight.classifiers.regions import BANDS, EmbeddedRegions
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.score import ClassifierWeights, RegionClassifiers, score_regions
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Views


def make_regions(X: np.ndarray) -> EmbeddedRegions:
    n = len(X)
    photo = PhotoFeatures(
        X.astype(np.float16), np.arange(n, dtype=np.int32)[None], np.zeros((0, 2), int), np.zeros(0), (n, 1)
    )
    return EmbeddedRegions([photo], Views(np.array([X.shape[1]]), np.ones(1), np.ones(1)), X.astype(np.float32))


def make_classifiers(weights: list[list[float]], *, bias: float) -> RegionClassifiers:
    d, K = len(weights), len(weights[0])
    objects = Linear(np.array(weights, np.float32), np.zeros(K, np.float32))
    photo_classifier = Linear(np.zeros((d, K - 1), np.float32), np.zeros(K - 1, np.float32))
    empty = np.zeros((K, 0), np.float32)
    none = AttributeClassifier(Linear(np.zeros((d, 0), np.float32), np.zeros(0, np.float32)), empty, empty)
    return RegionClassifiers(
        photo_classifier, objects, none, np.zeros((K, BANDS)), ClassifierWeights(smoothing=0.9), 0.5, bias
    )


def test_adapting_learns_a_feature_that_was_uninformative_in_training() -> None:
    rng = np.random.default_rng(0)
    is_object = rng.random(400) < 0.5
    known, unknown = 2.0 * is_object - 1.0, 2.0 * is_object - 1.0
    X = np.stack([known, unknown, np.zeros(400)], axis=1) + rng.normal(0, 0.2, (400, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    classifiers = make_classifiers([[-3.0, 3.0], [0.0, 0.0], [0.0, 0.0]], bias=0.0)
    adapted = adapt_classifiers(make_regions(X), classifiers)
    for sign in (-1.0, 1.0):  # the known feature hidden
        hidden = make_regions(np.array([[0.0, sign, 0.0]]))
        assert_allclose(score_regions(hidden, classifiers).margin, 0.0, atol=1e-6)
        assert sign * score_regions(hidden, adapted).margin[0] > 0.3


def test_the_background_bias_is_not_added_twice() -> None:
    """With identical regions both object classifiers agree, whatever the bias."""
    X = np.tile([[1.0, 0.0]], (50, 1))
    classifiers = make_classifiers([[0.0, 0.0], [0.0, 0.0]], bias=1.5)
    regions = make_regions(X)
    assert_allclose(score_regions(regions, adapt_classifiers(regions, classifiers)).margin, -1.5, atol=0.02)
