"""Transforms of region vectors whose parameters are learned from training regions.

The vector of a region is made of blocks (one per feature map and one of colours), averaged over the region and not
normalised. Three transforms of it are used, with u(v) = v / |v|:

    normalised features:    w_1 u(block 1), w_2 u(block 2), ...
    scaled features:        v_1 / s_1 block 1, v_2 / s_2 block 2, ...   s the standard deviation of the block
    standardised features:  x_d / s_d                                   s the standard deviation of each dimension

A projection is affine, x -> x basis - offset, with the principal components of a sample as basis. The embedding of a
region is the projection of its normalised features, divided by its length: the vector of the model and of the region
classifiers (`predict.predictor.embed`). Normalised features discard the lengths of blocks, which show how much of a
feature is present. Photo classifiers therefore use scaled features, which can be averaged over a photo. Class
activation maps and the photo-level prior use the projection of standardised features.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from tagsight.types import Array, Floats, Ints

STD_FLOOR = 0.05  # of the largest standard deviation of a dimension

_TINY = np.finfo(np.float32).tiny


class Block(NamedTuple):
    """A stretch of a region's vector."""

    length: int
    direction_weight: float  # w, of the normalised block
    strength_weight: float  # v, of the scaled block


class Views(NamedTuple):
    """The parameters of normalised and scaled features of B blocks."""

    ends: Ints  # (B,) where each block ends
    directions: Floats  # (B,) w, of normalised features
    strengths: Floats  # (B,) v / s, of scaled features
    photo_effect: float = 0.0  # fraction of the photo's mean that is subtracted from a region's embedding


class Projection(NamedTuple):
    """x -> x basis - offset, both float32."""

    basis: Array  # (D, d), orthonormal columns; those the sample does not determine are zero
    offset: Array  # (d,) the sample's mean, projected


def learn_views(blocks: tuple[Block, ...], sample: Array, *, photo_effect: float = 0.0) -> Views:
    """The views of vectors made of `blocks` (empty: one block), from a `sample` (n, D) of training regions."""
    blocks = blocks or (Block(sample.shape[1], 1.0, 1.0),)
    ends = np.cumsum([block.length for block in blocks])
    std = [max(float(part.std(dtype=np.float64)), 1e-12) for part in np.split(sample, ends[:-1], axis=1)]
    return Views(
        ends,
        np.array([block.direction_weight for block in blocks]),
        np.array([block.strength_weight for block in blocks]) / std,
        photo_effect,
    )


def normalise_features(features: Array, views: Views) -> Array:
    """(n, D) float32 `features` (n, D) with every block scaled to the length w; a block of zeros stays zero."""
    normalised = np.empty(features.shape, np.float32)
    for start, end, weight in zip([0, *views.ends[:-1]], views.ends, views.directions, strict=True):
        block = features[:, start:end].astype(np.float32)
        length = np.linalg.norm(block, axis=1, keepdims=True)
        normalised[:, start:end] = np.float32(weight) * block / np.maximum(length, _TINY)
    return normalised


def scale_features(features: Array, views: Views) -> Array:
    """(n, D) float32 `features` (n, D) with every block multiplied by v / s."""
    weight = np.repeat(views.strengths, np.diff([0, *views.ends])).astype(np.float32)
    return features.astype(np.float32) * weight


def learn_projection(sample: Array, length: int) -> Projection:
    """The `length` principal components of the rows of `sample` (n, D), strongest first.

    They come from the smaller of the two Gram matrices. With X the centred sample, the leading eigenvectors V of X'X
    are the basis; where n < D those are V = X'U / s, with U and s^2 the eigenvectors and eigenvalues of XX'. The
    largest entry of each component is positive, so that the result is unique. `sample`, which may take half a
    gigabyte, is centred in place.
    """
    count, width = sample.shape
    mean = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    sample -= mean
    gram = sample @ sample.T if count < width else sample.T @ sample
    kept = min(length, len(gram))
    values, vectors = linalg.eigh(gram, subset_by_index=(len(gram) - kept, len(gram) - 1), overwrite_a=True)
    # Eigenvalues that float32 cannot tell from zero have no direction.
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors[:, values > max(values[0], 0) * len(gram) * np.finfo(np.float32).eps]
    if count < width:
        vectors = sample.T @ vectors
        vectors /= np.linalg.norm(vectors, axis=0)
    basis = np.zeros((width, length), np.float32)
    basis[:, : vectors.shape[1]] = vectors * np.sign(_pick_largest(vectors))
    return Projection(basis, mean @ basis)


def learn_standard_projection(sample: Array, length: int) -> Projection:
    """The projection of standardised vectors: x -> (x / s - m) V / c, learned from a `sample` (n, D).

    s is the standard deviation of each dimension, or STD_FLOOR times the largest if it is less; m is the mean of
    x / s, V the principal components, and c makes the mean square length one. The map is affine, so the projection of
    an average is the average of the projections.
    """
    sample = sample.astype(np.float32)
    std = sample.std(axis=0)
    std = np.maximum(std, max(STD_FLOOR * float(std.max()), _TINY))
    sample /= std
    basis, offset = learn_projection(sample, min(length, sample.shape[1]))
    squares: Array = np.sum((sample @ basis) ** 2, axis=1)  # the sample is centred now
    size = np.sqrt(squares.mean()) or 1.0
    return Projection(basis / std[:, None] / size, offset / size)


def project(vectors: Array, projection: Projection) -> Array:
    """(n, d) float32 coordinates of `vectors` (n, D)."""
    return vectors @ projection.basis - projection.offset


def _pick_largest(vectors: Array) -> Array:
    """(d,) the entry of greatest absolute value of each column."""
    return np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)[0]
