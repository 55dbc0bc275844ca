"""Photo-level evidence from the posterior of regions, and the attribute evidence of objects.

The log-odds of a factor in a region are tens of nats, because the model treats correlated features as independent. The
field within regions changes them by about half a nat (with the preset's rho), which has almost no effect. Its term is
therefore computed once more for the whole photo and gets a weight of its own in the calibration. With s_ik the highest
log-odds of factor k in photo i, clipped as in calibration, the attribute evidence of object o is

    w_io = sum_a M_oa s_ia / sum_a |M_oa|     over the attributes a that the photo may have:

the mean evidence for the attributes that correlate with the object. Its weight relative to s_io is fitted on held-out
photos (`training/held_out.py`). Without a field (rho = 0) it is 0.
"""

from typing import NamedTuple

import numpy as np

from tagsight.classifiers.calibration import MAX_CALIBRATION_LOG_ODDS
from tagsight.engine.inference import FittedModel
from tagsight.types import Array, Floats, Ints


class PhotoEvidence(NamedTuple):
    """Evidence for the factors in I photos."""

    objects: Floats  # (I, K_o) highest log-odds of each object over the regions
    best_region: Ints  # (I, K_o) row of the region with the highest
    attributes: Floats  # (I, K_a) highest log-odds of each attribute over the regions
    attribute_evidence: Floats  # (I, K_o) w


def collect_photo_evidence(log_odds: Array, groups: Ints, learned: FittedModel) -> PhotoEvidence:
    """The evidence from log-odds (N, K_o + K_a or more) of regions of photos 0, 1, ... in `groups` (N,), ascending."""
    settings = learned.settings
    n_objects, n_tagged = settings.factors.objects, settings.factors.tagged
    objects, attributes = log_odds[:, :n_objects], log_odds[:, n_objects:n_tagged]
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    best_region = first[:, None] + np.stack([part.argmax(axis=0) for part in np.split(objects, first[1:])])
    strongest = np.maximum.reduceat(attributes, first).astype(np.float64)
    M = settings.affinity * learned.state.affinity[:n_objects, n_objects:n_tagged]
    return PhotoEvidence(
        np.maximum.reduceat(objects, first).astype(np.float64),
        best_region,
        strongest,
        compute_attribute_evidence(strongest, M),
    )


def compute_attribute_evidence(strongest: Floats, M: Floats) -> Floats:
    """(I, K_o) w, from the highest log-odds (I, K_a) of attributes, -inf where not allowed, and M (K_o, K_a)."""
    allowed = np.isfinite(strongest).astype(np.float64)
    bounded = np.clip(np.where(allowed, strongest, 0.0), -MAX_CALIBRATION_LOG_ODDS, MAX_CALIBRATION_LOG_ODDS)
    support = np.einsum(
        "ia,oa->io", bounded, M
    )  # not by BLAS, so that a photo's sum does not depend on the number of photos
    weight = np.einsum("ia,oa->io", allowed, np.abs(M))
    return np.divide(support, weight, out=np.zeros_like(support), where=weight > 0)
