"""Learn from new photos too, though they have no tags.

What the readers say of a region of a new photo rests on more than the region: on its kin and on what the photo as a
whole doubts. A second reader of objects learns just that from the region alone, and the mean of both scores reads the
new photos.
"""

import numpy as np
from scipy.special import softmax

from tagsight.classifiers.fit import RegionClassifiers, fit_object_classifier
from tagsight.classifiers.regions import Regions
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.rows import InMemoryRows
from tagsight.classifiers.score import score_regions


def adapt_classifiers(regions: Regions, classifiers: RegionClassifiers) -> RegionClassifiers:
    """The readers after learning from `regions` of new photos."""
    said = softmax(score_regions(regions, classifiers).classes, axis=1)
    second = fit_object_classifier(
        InMemoryRows(regions.X), said, np.concatenate([photo.area for photo in regions.photos])
    )
    offset = second.offset.copy()
    offset[0] -= classifiers.bias  # which reading adds
    first = classifiers.objects
    return classifiers._replace(objects=Linear((first.weights + second.weights) / 2, (first.offset + offset) / 2))
