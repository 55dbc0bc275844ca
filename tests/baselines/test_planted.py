"""Every baseline recovers planted objects and attributes, and gives the same result for the same seed."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight_bench.baselines.activation import ClassActivation
from tagsight_bench.baselines.miml import MimlBoost
from tagsight_bench.baselines.ssvm import BoxSVM
from tagsight_bench.baselines.supervised import MaskClassifier
from tagsight_bench.baselines.wlda import WeakLDA
from tagsight_bench.baselines.wsdc import DualClustering
from tagsight_bench.baselines.wsvm import PhotoSVM
from tagsight_bench.evaluation.method import Method, Tags
from tests.baselines.planted import ATTRIBUTES, OBJECTS, World, draw_world, score_method

TRAIN, TEST = draw_world(90, seed=1), draw_world(40, seed=2)
SMALL = draw_world(24, seed=3)

BASELINES: dict[str, Callable[[World], Method]] = {
    "w-SVM": lambda world: PhotoSVM().fit(world.photos, world.tags),
    "class activation": lambda world: ClassActivation(world.masks).fit(world.photos, world.tags),
    "MIML": lambda world: MimlBoost().fit(world.photos, world.tags),
    "w-LDA": lambda world: WeakLDA(n_free=3).fit(world.photos, world.tags),
    "WSDC": lambda world: DualClustering().fit(world.photos, world.tags),
    "s-SVM": lambda world: BoxSVM(world.instances).fit(world.photos, world.tags),
    "supervised": lambda world: MaskClassifier(world.masks).fit(world.photos, world.tags),
}

# Minimum scores of segmentation, location, binding, photos and boxes. Chance is 0.2, 0.17, 0.5, 0.4 and 0.3.
MINIMA: dict[str, tuple[float, ...]] = {
    "w-SVM": (0.4, 0.0, 0.5, 0.98, 0.98),  # without localisation
    "class activation": (0.97, 0.98, 0.98, 0.98, 0.98),
    "MIML": (0.7, 0.95, 0.9, 0.9, 0.9),
    "w-LDA": (0.65, 0.9, 0.95, 0.85, 0.9),
    "WSDC": (0.95, 0.98, 0.98, 0.98, 0.98),
    "s-SVM": (0.98, 0.98, 0.98, 0.98, 0.98),
    "supervised": (0.98, 0.98, 0.5, 0.98, 0.0),  # without attributes
}


@pytest.mark.parametrize("name", BASELINES)
def test_planted_objects_and_attributes_are_recovered(name: str) -> None:
    scores = score_method(BASELINES[name](TRAIN), TEST)
    for measure, value, minimum in zip(scores._fields, scores, MINIMA[name], strict=True):
        assert value >= minimum, f"{measure} of {name}: {scores}"


@pytest.mark.parametrize("name", BASELINES)
def test_the_same_seed_gives_the_same_predictions(name: str) -> None:
    first, second = (BASELINES[name](SMALL) for _ in range(2))
    photo, boxes = TEST.photos[0], TEST.instances[0].boxes
    for one, other in zip(first.predict([photo])[0], second.predict([photo])[0], strict=True):
        assert_array_equal(one, other)
    assert_array_equal(first.describe_boxes(photo, boxes), second.describe_boxes(photo, boxes))


@pytest.mark.parametrize("name", BASELINES)
def test_predictions_have_the_required_shapes_and_do_not_depend_on_other_photos(name: str) -> None:
    method = BASELINES[name](SMALL)
    together = method.predict(TEST.photos[:3])
    for photo, prediction in zip(TEST.photos[:3], together, strict=True):
        R = len(photo.features)
        assert prediction.photo.shape == (OBJECTS,)
        assert prediction.objects.shape == (R, OBJECTS)
        assert prediction.attributes.shape == (R, ATTRIBUTES)
        assert prediction.labels.shape == (R,)
        assert prediction.labels.min() >= 0
        assert prediction.labels.max() <= OBJECTS
        alone = method.predict([photo])[0]
        for part in ("photo", "objects", "attributes", "labels"):
            one, other = getattr(prediction, part), getattr(alone, part)
            assert np.isfinite(one).all()
            np.testing.assert_allclose(one, other, atol=1e-3)
    assert method.describe_boxes(TEST.photos[0], np.zeros((0, 4))).shape == (0, ATTRIBUTES)


@pytest.mark.parametrize("name", [name for name in BASELINES if name not in ("s-SVM", "supervised")])
def test_constant_tags_give_finite_and_certain_predictions(name: str) -> None:
    tags = Tags(SMALL.tags.objects.copy(), SMALL.tags.attributes.copy())
    tags.objects[:, 0], tags.attributes[:, 0], tags.attributes[:, 1] = 0, 0, 1
    predictions = BASELINES[name](SMALL._replace(tags=tags)).predict(TEST.photos[:4])
    assert len(predictions) == 4
    for one in predictions:
        assert np.isfinite(one.attributes).all()
        assert one.photo[0] < -10
        assert (one.attributes[:, 0] < -10).all()
        assert (one.attributes[:, 1] > 10).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_the_signs_of_photo_log_odds_are_mostly_right(name: str) -> None:
    """Most photos with positive log-odds have the object, and most others do not."""
    scores = np.array([prediction.photo for prediction in BASELINES[name](TRAIN).predict(TEST.photos)])
    right = (scores > 0) == TEST.tags.objects
    assert right.mean() > 0.75  # always negative would be right in 0.62
