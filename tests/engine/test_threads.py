"""The number of threads changes nothing at all."""

import numpy as np
import pytest

from tagsight.model.local_step import BLOCK
from tagsight.model.settings import Settings
from tests.engine.training import FACTORS, draw_photos, train


@pytest.mark.parametrize("n_threads", [2, 3])
def test_posteriors_are_equal_to_the_last_bit(n_threads: int):
    photos = draw_photos(3 * BLOCK + 5)
    one = train(photos, Settings(FACTORS))
    many = train(photos, Settings(FACTORS), n_threads=n_threads)
    assert np.array_equal(many.nu, one.nu)
    assert np.array_equal(many.locals[0].sticks, one.locals[0].sticks)
    assert np.array_equal(many.locals[0].order, one.locals[0].order)
    assert np.array_equal(many.fit.state.appearance.mean, one.fit.state.appearance.mean)
    assert [sweep.bound for sweep in many.fit.sweeps] == [sweep.bound for sweep in one.fit.sweeps]
