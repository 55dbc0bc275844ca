"""The cache in memory: the least recently used values are dropped."""

import numpy as np

from tagsight.index.limits import LRUCache
from tagsight.types import Array


def test_the_least_recently_used_value_is_dropped_first() -> None:
    cache: LRUCache[Array] = LRUCache(24)
    for number in (1, 2, 3):
        cache.put(number, np.zeros(8, np.uint8), 8)
    assert cache.get(1) is not None
    cache.put(4, np.zeros(8, np.uint8), 8)
    assert [number for number in (1, 2, 3, 4) if cache.get(number) is not None] == [1, 3, 4]


def test_a_single_value_stays_however_large_it_is() -> None:
    cache: LRUCache[Array] = LRUCache(4)
    cache.put(1, np.zeros(8, np.uint8), 8)
    cache.put(2, np.ones(8, np.uint8), 8)
    assert len(cache) == 1
    found = cache.get(2)
    assert found is not None
    assert found.all()
