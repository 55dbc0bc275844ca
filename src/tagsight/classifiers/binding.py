"""Which adjective goes with which noun, from tags of whole photos.

A photo of a furry horse and a metal car has all four tags. Raw co-occurrence would call cars furry. Instead each
attribute's tags are explained by the objects of the photos,

    tag_a(i)  ~  sum_o P_oa tag_o(i) + rest_a,     P, rest >= 0,

so that what the car explains need not be explained by the horse.
"""

import numpy as np
from scipy.optimize import nnls

from tagsight.types import Array, Floats


def bind_attributes(objects: Array, attributes: Array) -> Floats:
    """(K_o, K_a) P(attribute | object) from tags (I, K_o) and (I, K_a)."""
    design = np.hstack([objects, np.ones((len(objects), 1))]).astype(np.float64)
    bound = np.zeros((objects.shape[1], attributes.shape[1]))
    for a in range(attributes.shape[1]):
        bound[:, a] = nnls(design, attributes[:, a].astype(np.float64))[0][:-1]
    return np.minimum(bound, 1.0)
