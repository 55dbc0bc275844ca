"""The result does not depend on the number of threads."""

import numpy as np
import pytest

from tagsight.model.local_step import BLOCK
from tagsight.model.settings import Settings
from tests.engine.training import FACTORS, draw_photos, train


@pytest.mark.parametrize(
    ("n_threads", "settings"),
    [(2, Settings(FACTORS)), (3, Settings(FACTORS)), (3, Settings(FACTORS, exclusive=True, shrinkage=2.0))],
)
def test_posteriors_are_equal_to_the_last_bit(n_threads: int, settings: Settings):
    photos = draw_photos(3 * BLOCK + 5)
    one = train(photos, settings)
    many = train(photos, settings, n_threads=n_threads)
    assert np.array_equal(many.nu, one.nu)
    assert np.array_equal(many.locals[0].sticks, one.locals[0].sticks)
    assert np.array_equal(many.locals[0].order, one.locals[0].order)
    assert np.array_equal(many.fit.state.appearance.mean, one.fit.state.appearance.mean)
    assert [sweep.bound for sweep in many.fit.sweeps] == [sweep.bound for sweep in one.fit.sweeps]
