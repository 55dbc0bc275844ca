"""Samples that tests of transforms and mixtures share."""

import numpy as np

from tagsight.types import Array


def make_sample(count: int, width: int, seed: int = 0) -> Array:
    """(count, width) float32: correlated rows whose mean is not zero."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(width, width)) * 0.8 ** np.arange(width)[:, None]
    return (rng.normal(size=(count, width)) @ mixing + rng.normal(size=width)).astype(np.float32)
