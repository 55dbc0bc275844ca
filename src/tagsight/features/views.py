"""Two views of a region's vector: its directions, and its strengths.

A describer's vector is made of blocks (one a feature map, one of colours) as they were averaged, of any length.

    directions:  w_1 u(block 1), w_2 u(block 2), ...        u(v) = v / |v|
    strengths:   v_1 / s_1 block 1, v_2 / s_2 block 2, ...   s the block's spread over the training regions

What a region is like lies in the directions: the model and the readout see those. How much of anything is there lies
in the lengths, which directions throw away: averages over a photo, and classifiers of its tags, need them.
"""

from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Floats, Ints


class Block(NamedTuple):
    """A stretch of a region's vector."""

    length: int
    direction_weight: float  # w
    strength_weight: float  # v


class Views(NamedTuple):
    """How both views are made."""

    ends: Ints  # (B,) where each block ends
    directions: Floats  # (B,) w
    strengths: Floats  # (B,) v / s
    photo_effect: float = (
        0.0  # share of its photo's mean that is subtracted from a region's vector; see `trained.embed`
    )


def learn_views(blocks: tuple[Block, ...], sample: Array, *, photo_effect: float = 0.0) -> Views:
    """Views of vectors made of `blocks` (none: one); spreads from a sample (n, D) of training regions."""
    blocks = blocks or (Block(sample.shape[1], 1.0, 1.0),)
    ends = np.cumsum([block.length for block in blocks])
    spread = [max(float(part.std(dtype=np.float64)), 1e-12) for part in np.split(sample, ends[:-1], axis=1)]
    return Views(
        ends,
        np.array([block.direction_weight for block in blocks]),
        np.array([block.strength_weight for block in blocks]) / spread,
        photo_effect,
    )


def compute_directions(features: Array, views: Views) -> Array:
    """(n, D) float32; a block of zeros, the one vector without a direction, stays."""
    seen = np.empty(features.shape, np.float32)
    for start, end, weight in zip([0, *views.ends[:-1]], views.ends, views.directions, strict=True):
        block = features[:, start:end].astype(np.float32)
        length = np.linalg.norm(block, axis=1, keepdims=True)
        seen[:, start:end] = np.float32(weight) * block / np.maximum(length, np.finfo(np.float32).tiny)
    return seen


def compute_strengths(features: Array, views: Views) -> Array:
    """(n, D) float32."""
    weight = np.repeat(views.strengths, np.diff([0, *views.ends])).astype(np.float32)
    return features.astype(np.float32) * weight
