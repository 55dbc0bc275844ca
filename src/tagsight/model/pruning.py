"""Which free factors the data had no use for."""

from typing import NamedTuple

import numpy as np

from tagsight.model.settings import Factors
from tagsight.model.state import Summary
from tagsight.types import Floats, Ints

FEWEST_REGIONS = 1.0


class FreeUsage(NamedTuple):
    """How much each free factor is used."""

    regions: Floats  # (n_free,) expected number of training regions with the factor on
    unused: Ints  # columns of those on in fewer than FEWEST_REGIONS


def report_free_usage(summary: Summary, factors: Factors) -> FreeUsage:
    """Usage of the free factors in the training photos."""
    regions = summary.count[factors.tagged :]
    return FreeUsage(regions, factors.tagged + np.flatnonzero(regions < FEWEST_REGIONS))
