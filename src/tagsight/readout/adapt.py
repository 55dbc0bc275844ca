"""Learn from new photos too, though they have no tags.

What the readers say of a region of a new photo rests on more than the region: on its kin and on what the photo as a
whole doubts. A second reader of objects learns just that from the region alone, and the mean of both scores reads the
new photos.
"""

import numpy as np
from scipy.special import softmax

from tagsight.readout.learn import Readout, fit_reader
from tagsight.readout.read import read_regions
from tagsight.readout.regions import Regions
from tagsight.readout.regression import Linear
from tagsight.readout.rows import HeldRows


def adapt_readout(regions: Regions, readout: Readout) -> Readout:
    """The readers after learning from `regions` of new photos."""
    said = softmax(read_regions(regions, readout).classes, axis=1)
    second = fit_reader(HeldRows(regions.X), said, np.concatenate([photo.area for photo in regions.photos]))
    offset = second.offset.copy()
    offset[0] -= readout.bias  # which reading adds
    first = readout.objects
    return readout._replace(objects=Linear((first.weights + second.weights) / 2, (first.offset + offset) / 2))
