"""What the model alone says of photos as wholes.

Its evidence for a factor is tens of nats, far too sure of itself; the messages of the field within regions, about half
a nat at the preset's strength, are lost in it. So the field is read once more, on the scale of the evidence: with s_ik
the strongest log-odds of factor k in photo i, bounded as calibration bounds them, the company of object o

    w_io = sum_a M_oa s_ia / sum_a |M_oa|     over the attributes a that the photo may have

says how far the attributes that go with the object are there. What it counts for, beside s_io, is fitted to held-out
photos (`training/held_out.py`). Where the field has no strength (rho = 0), there is no company.
"""

from typing import NamedTuple

import numpy as np

from tagsight.classifiers.calibration import MAX_LOG_ODDS
from tagsight.engine.inference import FittedModel
from tagsight.types import Array, Floats, Ints


class PhotoEvidence(NamedTuple):
    """Of I photos."""

    objects: Floats  # (I, K_o) log-odds of each object in its clearest region
    clearest: Ints  # (I, K_o) row of that region
    attributes: Floats  # (I, K_a) log-odds of each attribute in the region where it is strongest
    attribute_support: Floats  # (I, K_o) w above


def collect_photo_evidence(log_odds: Array, groups: Ints, learned: FittedModel) -> PhotoEvidence:
    """From the log-odds (N, K_o + K_a or more) of the regions of photos 0, 1, ... in `groups` (N,), ascending."""
    settings = learned.settings
    n_objects, n_tagged = settings.factors.objects, settings.factors.tagged
    objects, attributes = log_odds[:, :n_objects], log_odds[:, n_objects:n_tagged]
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    clearest = first[:, None] + np.stack([part.argmax(axis=0) for part in np.split(objects, first[1:])])
    strongest = np.maximum.reduceat(attributes, first).astype(np.float64)
    M = settings.affinity * learned.state.affinity[:n_objects, n_objects:n_tagged]
    return PhotoEvidence(
        np.maximum.reduceat(objects, first).astype(np.float64),
        clearest,
        strongest,
        measure_attribute_support(strongest, M),
    )


def measure_attribute_support(strongest: Floats, M: Floats) -> Floats:
    """(I, K_o) from the strongest log-odds (I, K_a) of attributes, minus infinity where barred, and M (K_o, K_a)."""
    may = np.isfinite(strongest).astype(np.float64)
    bounded = np.clip(np.where(may, strongest, 0.0), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    said = np.einsum("ia,oa->io", bounded, M)  # not by BLAS: a photo's sum does not depend on how many there are
    weight = np.einsum("ia,oa->io", may, np.abs(M))
    return np.divide(said, weight, out=np.zeros_like(said), where=weight > 0)
