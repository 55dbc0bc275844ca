"""Values kept in memory."""

import numpy as np

from tagsight.index.cached_values import CachedValues
from tagsight.types import Array


def test_the_longest_unused_goes_first() -> None:
    kept: CachedValues[Array] = CachedValues(24)
    for number in (1, 2, 3):
        kept.keep(number, np.zeros(8, np.uint8), 8)
    assert kept.find(1) is not None
    kept.keep(4, np.zeros(8, np.uint8), 8)
    assert [number for number in (1, 2, 3, 4) if kept.find(number) is not None] == [1, 3, 4]


def test_one_column_is_kept_however_large() -> None:
    kept: CachedValues[Array] = CachedValues(4)
    kept.keep(1, np.zeros(8, np.uint8), 8)
    kept.keep(2, np.ones(8, np.uint8), 8)
    assert len(kept) == 1
    found = kept.find(2)
    assert found is not None
    assert found.all()
