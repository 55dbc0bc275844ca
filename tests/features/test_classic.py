import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from tagsight.errors import InputError
from tagsight.features import classic
from tagsight.features.classic import ClassicCodebook, choose_photos, extract_regions, learn_codebook
from tagsight.features.fisher import encode_regions
from tagsight.features.pooling import compute_colour_histograms
from tagsight.features.sift import compute_descriptors
from tagsight.features.transforms import project
from tagsight.storage.records import decode_record, encode_record


def draw_stripes(angle, seed):
    """60 x 90 RGB: stripes of a period of 8 pixels across `angle`, coloured, with noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:60, :90]
    wave = np.sin((columns * np.cos(angle) + rows * np.sin(angle)) * np.pi / 4)
    shades = 128 + 60 * wave[..., None] * rng.uniform(0.5, 1, 3) + rng.normal(0, 8, (60, 90, 3))
    return np.clip(shades, 0, 255).astype(np.uint8)


def cut_grid(pixels):
    height, width = pixels.shape[:2]
    return (np.arange(height) * 3 // height)[:, None] * 3 + np.arange(width) * 3 // width


@pytest.fixture(scope="module")
def training():
    photos = [draw_stripes(angle, seed) for seed, angle in enumerate([0, 0.7, 1.5, 2.2])]
    return [(pixels, cut_grid(pixels)) for pixels in photos]


@pytest.fixture(scope="module")
def codebook(training):
    return learn_codebook(iter(training), seed=0)


def test_a_vector_is_a_fisher_block_and_a_colour_block(codebook, photo, ragged_labels):
    vectors = extract_regions(photo, ragged_labels, codebook)
    assert vectors.shape == (9, 1024)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors[:, :512], axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-5)
    expected = np.sqrt(compute_colour_histograms(photo, ragged_labels))
    np.testing.assert_allclose(vectors[:, 512:], expected, rtol=1e-6)


def test_the_fisher_block_weights_descriptors_by_the_pixels_of_their_cells(codebook, photo, ragged_labels):
    points = compute_descriptors(photo)
    shares = np.zeros((9, 12, 18), np.float32)
    for y, x in np.ndindex(60, 90):
        shares[ragged_labels[y, x], y // 5, x // 5] += 1
    shares = shares.reshape(9, -1) / shares.sum(axis=(1, 2))[:, None]
    every_scale = sparse.csr_array(np.hstack([shares / 4] * 4))
    local = project(points.values.reshape(-1, 384), codebook.descriptors)
    expected = project(encode_regions(local, every_scale, codebook.mixture), codebook.fisher)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    vectors = extract_regions(photo, ragged_labels, codebook)
    np.testing.assert_allclose(vectors[:, :512], expected, atol=1e-3)


def test_regions_of_one_texture_are_closer_than_those_of_two(codebook):
    pixels = np.concatenate([draw_stripes(0, 8), draw_stripes(1.5, 9)], axis=1)
    labels = np.repeat(np.repeat([[0, 1, 2, 3], [4, 5, 6, 7]], 30, axis=0), 45, axis=1)
    vectors = extract_regions(pixels, labels, codebook)[:, :512]
    similarity = vectors @ vectors.T
    texture = np.array([0, 0, 1, 1] * 2)
    same = texture[:, None] == texture
    np.fill_diagonal(similarity, 0)
    assert (similarity * same).sum(axis=1).min() / 3 > (similarity * ~same).sum(axis=1).max() / 4 + 0.2
    assert (texture[similarity.argmax(axis=1)] == texture).all()


def test_a_projection_learned_from_few_regions_keeps_their_distances(training, codebook):
    """36 regions span fewer than 512 dimensions, so only rounding to float16 changes them."""
    fisher, projected = [], []
    for pixels, labels in training:
        points = compute_descriptors(pixels)
        weights = classic._weigh_points(points, labels)
        fisher.append(classic._encode(points, weights, codebook.descriptors, codebook.mixture))
        projected.append(project(fisher[-1], codebook.fisher))
    a, b = np.concatenate(fisher), np.concatenate(projected)
    np.testing.assert_allclose(
        np.linalg.norm(b[:, None] - b, axis=2), np.linalg.norm(a[:, None] - a, axis=2), atol=2e-3
    )


def test_the_codebook_depends_on_the_seed_and_not_on_the_threads(training, codebook, photo, ragged_labels):
    with threadpool_limits(limits=2, user_api="blas"):
        again = learn_codebook(training, seed=0)
    other = learn_codebook(training, seed=1)
    for name, array in codebook.arrays().items():
        assert array.tobytes() == again.arrays()[name].tobytes()
    assert codebook.mixture.means.tobytes() != other.mixture.means.tobytes()
    one, two = (extract_regions(photo, ragged_labels, book) for book in (codebook, again))
    assert one.tobytes() == two.tobytes()


def test_a_stored_codebook_gives_the_same_vectors(codebook, photo, ragged_labels):
    header, tensors = encode_record(codebook)
    assert sum(array.nbytes for array in tensors.values()) < 35e6
    opened = decode_record(ClassicCodebook, header, tensors)
    found = extract_regions(photo, ragged_labels, opened)
    assert found.tobytes() == extract_regions(photo, ragged_labels, codebook).tobytes()


def test_renumbering_the_regions_renumbers_the_vectors(codebook, photo, ragged_labels):
    order = np.random.default_rng(5).permutation(9)
    vectors = extract_regions(photo, ragged_labels, codebook)
    renumbered = extract_regions(photo, order[ragged_labels], codebook)
    np.testing.assert_allclose(renumbered[order], vectors, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (200, 3), (1, 40), (37, 41)])
@pytest.mark.parametrize("one_colour", [True, False])
def test_tiny_and_one_colour_photos_have_finite_vectors(codebook, shape, one_colour):
    pixels = np.random.default_rng(6).integers(0, 256, (*shape, 3)).astype(np.uint8)
    if one_colour:
        pixels[:] = 0, 130, 255
    labels = np.arange(shape[0] * shape[1]).reshape(shape) // 7
    vectors = extract_regions(pixels, labels, codebook)
    assert vectors.shape == (labels.max() + 1, 1024)
    assert np.isfinite(vectors).all()


def test_one_colour_photos_can_be_learned_from():
    pixels = np.full((60, 90, 3), 80, np.uint8)
    codebook = learn_codebook([(pixels, cut_grid(pixels))], seed=0)
    assert np.isfinite(extract_regions(draw_stripes(1, 2), cut_grid(pixels), codebook)).all()


def test_a_seeded_choice_of_photos_is_in_order_and_bounded():
    chosen = choose_photos(2113, seed=0)
    assert len(chosen) == classic.PHOTOS
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, choose_photos(2113, seed=0))
    assert (chosen != choose_photos(2113, seed=1)).any()
    np.testing.assert_array_equal(choose_photos(7, seed=3), np.arange(7))


def test_photos_that_do_not_fit_are_refused(codebook, photo, ragged_labels):
    with pytest.raises(InputError, match="no photos"):
        learn_codebook([], seed=0)
    with pytest.raises(InputError, match="give more or larger photos"):
        learn_codebook([(photo[:20, :20], ragged_labels[:20, :20] * 0)], seed=0)
    with pytest.raises(InputError, match="uint8 with labels"):
        extract_regions(photo, ragged_labels[:-1], codebook)
