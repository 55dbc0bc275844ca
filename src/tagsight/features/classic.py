"""`classic` features, those of the paper: a Fisher vector of colour SIFT beside a colour histogram.

A photo gives dense descriptors (`sift`), projected to 64 numbers; a mixture of 256 Gaussians over them gives
each region a Fisher vector of 2 * 256 * 64 = 32,768 numbers (`fisher`), projected to 512. The vector of a region is

    [ u(projected Fisher vector), sqrt(Lab histogram) ],    u(v) = v / |v|,

512 numbers each, both of unit length. A descriptor is weighted in a region by the pixels of its 5 x 5 cell that belong
to the region, so that the smallest region has descriptors.

Both projections and the mixture are learned from training photos. Nearly all of the codebook is the projection of
Fisher vectors; it is rounded to float16 when it is learned, and stored so, in 34 MB.
"""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.features.fisher import Mixture, encode_regions, learn_mixture
from tagsight.features.pooling import compute_cell_weights, compute_colour_histograms
from tagsight.features.sift import Descriptors, compute_descriptors
from tagsight.features.transforms import Block, Projection, learn_projection, project
from tagsight.runtime.blas import one_blas_thread
from tagsight.storage.records import StoredAs
from tagsight.types import Array

DESCRIPTOR_LENGTH = 64
COMPONENTS = 256
FISHER_LENGTH = 512
BLOCKS = (Block(FISHER_LENGTH, 1.0, 1.0), Block(512, 1.0, 1.0))

# Sizes of the sample that a codebook is learned from.
PHOTOS = 300
DESCRIPTORS = 120_000
REGIONS = 4_000


class ClassicCodebook(NamedTuple):
    """The parameters of classic features that are learned."""

    descriptors: Projection  # 384 -> 64
    mixture: Mixture  # 256 Gaussians in 64 dimensions
    fisher: Annotated[Projection, StoredAs("basis", "float16")]  # 32,768 -> 512

    def arrays(self) -> dict[str, Array]:
        """The arrays as they are stored, with names such as `mixture.means`."""
        arrays = {
            f"{part}.{name}": array
            for part, record in self._asdict().items()
            for name, array in record._asdict().items()
        }
        return arrays | {"fisher.basis": self.fisher.basis.astype(np.float16)}


def choose_photos(count: int, *, seed: int) -> Array:
    """Draw the indices of the training photos to learn a codebook from: at most `PHOTOS` of `count`, in order."""
    return np.sort(np.random.default_rng(seed).permutation(count)[:PHOTOS])


@one_blas_thread()
def learn_codebook(photos: Iterable[tuple[Array, Array]], *, seed: int) -> ClassicCodebook:
    """Learn a codebook from photos, given as pairs of RGB pixels (h, w, 3) uint8 and region labels (h, w).

    All photos are held in memory: give those of `choose_photos`.
    """
    photos = list(photos)
    if not photos:
        raise InputError("no photos to learn a codebook from; give one or more")
    rng = np.random.default_rng(seed)
    descriptors, mixture = _learn_descriptors(_sample_descriptors(photos, rng), seed)
    fisher = learn_projection(_sample_fisher_vectors(photos, descriptors, mixture, rng), FISHER_LENGTH)
    rounded = fisher.basis.astype(np.float16).astype(np.float32)
    return ClassicCodebook(descriptors, mixture, fisher._replace(basis=rounded))


@one_blas_thread()
def extract_regions(pixels: Array, labels: Array, codebook: ClassicCodebook) -> Array:
    """(R, 1024) float32 vectors of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
    colours = compute_colour_histograms(pixels, labels)
    points = compute_descriptors(pixels)
    vectors = _encode(points, _weigh_points(points, labels), codebook.descriptors, codebook.mixture)
    texture = project(vectors, codebook.fisher)
    texture /= np.maximum(np.linalg.norm(texture, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return np.hstack([texture, np.sqrt(colours)])


def _weigh_points(points: Descriptors, labels: Array) -> sparse.csr_array:
    """(R, rows * columns): the share of each grid point's cell in each region."""
    return compute_cell_weights(labels, len(points.rows), len(points.columns), interpolation="nearest")


def _encode(points: Descriptors, weights: sparse.csr_array, projection: Projection, mixture: Mixture) -> Array:
    """Fisher vectors of the regions of `weights`; all scales of a point have the same weight."""
    scales, _, _, length = points.values.shape
    vectors = project(points.values.reshape(-1, length), projection)
    return encode_regions(vectors, sparse.csr_array(sparse.hstack([weights / scales] * scales)), mixture)


def _learn_descriptors(sample: Array, seed: int) -> tuple[Projection, Mixture]:
    projection = learn_projection(sample, DESCRIPTOR_LENGTH)
    # The sample is centred now, so the basis alone projects it.
    return projection, learn_mixture(sample @ projection.basis, COMPONENTS, seed=seed)


def _sample_descriptors(photos: list[tuple[Array, Array]], rng: np.random.Generator) -> Array:
    share = -(-DESCRIPTORS // len(photos))
    chosen: list[Array] = []
    for pixels, _ in photos:
        values = compute_descriptors(pixels).values
        values = values.reshape(-1, values.shape[-1])
        chosen.append(values[_draw(len(values), share, rng)])
    return np.concatenate(chosen)


def _sample_fisher_vectors(
    photos: list[tuple[Array, Array]], projection: Projection, mixture: Mixture, rng: np.random.Generator
) -> Array:
    """(n, 2 K d) Fisher vectors of some regions of every photo, about half a gigabyte, written in place."""
    share = -(-REGIONS // len(photos))
    chosen = [_draw(int(labels.max()) + 1, share, rng) for _, labels in photos]
    ends = np.cumsum([len(regions) for regions in chosen])
    vectors = np.empty((ends[-1], 2 * mixture.means.size), np.float32)
    for (pixels, labels), regions, end in zip(photos, chosen, ends, strict=True):
        points = compute_descriptors(pixels)
        weights = _weigh_points(points, labels)[regions]
        vectors[end - len(regions) : end] = _encode(points, weights, projection, mixture)
    return vectors


def _draw(count: int, size: int, rng: np.random.Generator) -> Array:
    """Draw at most `size` of `count` indices, in order."""
    return np.sort(rng.choice(count, min(count, size), replace=False))
