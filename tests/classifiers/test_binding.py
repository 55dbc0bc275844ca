"""Accidental pairs are explained away."""

import numpy as np
from numpy.testing import assert_allclose

from tagsight.classifiers.binding import bind_attributes


def test_an_attribute_goes_with_the_object_that_explains_it() -> None:
    rng = np.random.default_rng(0)
    objects = rng.random((4000, 3)) < [0.5, 0.5, 0.3]
    objects[:, 1] |= objects[:, 0] & (rng.random(4000) < 0.6)  # cars stand beside most horses
    furry = objects[:, 0] & (rng.random(4000) < 0.8)
    metal = objects[:, 1] & (rng.random(4000) < 0.9)
    bound = bind_attributes(objects, np.stack([furry, metal], axis=1))
    assert_allclose(bound, [[0.8, 0.0], [0.0, 0.9], [0.0, 0.0]], atol=0.05)
    together = furry[objects[:, 1]].mean()  # what raw co-occurrence would say of furry cars
    assert together > 0.3


def test_what_no_object_explains_goes_with_none() -> None:
    rng = np.random.default_rng(1)
    objects = rng.random((2000, 2)) < 0.5
    bound = bind_attributes(objects, np.ones((2000, 1)))
    assert bound.max() < 0.01
