"""How high in photos things lie: sky above road.

Of the regions located as label l, the share of their area in a band b of the photo's height is P(b | l). Beside the
share P(b) of all area in the band, it says how far a region's height speaks for the label:

    log P(b | l) / P(b).

Bands are mixed with PRIOR photos' worth of P, so that a label seen in few photos says little.
"""

import numpy as np

from tagsight.types import Array, Floats

BANDS = 8
PRIOR = 5.0


def find_height_bands(labels: Array, n_regions: int) -> Array:
    """(R,) int8, the band of the middle of each region of a label map (h, w); 0 is the top."""
    height = len(labels)
    rows = np.repeat(np.arange(height) + 0.5, labels.shape[1])
    total = np.bincount(labels.ravel(), rows, n_regions)
    middle = total / np.maximum(np.bincount(labels.ravel(), minlength=n_regions), 1) / height
    return np.minimum((middle * BANDS).astype(np.int8), np.int8(BANDS - 1))


def fit_height_prior(bands: Array, labels: Array, area: Floats, n_labels: int) -> Array:
    """(n_labels, BANDS) float32, from regions in `bands` (N,) with `labels` (N,) and shares `area` (N,) of a photo."""
    count = np.zeros((n_labels, BANDS))
    np.add.at(count, (labels, bands), area)
    prior_log_odds = (count.sum(axis=0) + 1e-9) / (count.sum() + BANDS * 1e-9)
    shares = (count + PRIOR * prior_log_odds) / (count.sum(axis=1, keepdims=True) + PRIOR)
    return np.log(shares / prior_log_odds).astype(np.float32)
