import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.colour import count_colours
from tagsight.features.deep import DeepSettings, MapUse, extract_regions, list_blocks
from tagsight.features.efficientnet import open_builtin
from tagsight.features.pooling import pool_map, weigh_cells
from tagsight.features.views import Block


def test_a_vector_is_its_pooled_maps_and_colours_side_by_side(backbone, photo, ragged_labels):
    settings = DeepSettings(maps=(MapUse("head", zoom=0.7), MapUse("s16")), colour_weight=0.75)
    vectors = extract_regions(photo, ragged_labels, backbone, settings=settings)
    assert vectors.shape == (9, 1280 + 120 + 512)
    assert vectors.dtype == np.float32
    blocks = np.split(vectors, [1280, 1400], axis=1)
    for block, name, zoom in zip(blocks, ("head", "s16"), (0.7, 1.0), strict=False):
        values = backbone.maps(photo, (name,), zoom=zoom)[0].values
        np.testing.assert_allclose(block, pool_map(values, weigh_cells(ragged_labels, *values.shape[:2])), rtol=1e-5)
    np.testing.assert_allclose(blocks[2] ** 2, count_colours(photo, ragged_labels), atol=1e-6)
    assert list_blocks(backbone, settings) == (Block(1280, 1.0, 1.0), Block(120, 1.0, 1.0), Block(512, 0.75, 1.0))


def test_a_map_seen_smaller_has_fewer_cells(backbone, photo):
    near, far = (backbone.maps(photo, ("head",), zoom=zoom)[0].values for zoom in (1.0, 0.4))
    assert far.shape[0] < near.shape[0]


def test_settings_reach_pooling_and_colour(backbone, photo, ragged_labels):
    settings = DeepSettings(maps=(MapUse("s32"),), interpolation="nearest", colour_bins=3, colour_soft=False)
    vectors = extract_regions(photo, ragged_labels, backbone, settings=settings)
    assert vectors.shape == (9, 352 + 27)
    s32 = backbone.maps(photo, ("s32",))[0].values
    pooled = pool_map(s32, weigh_cells(ragged_labels, *s32.shape[:2], interpolation="nearest"))
    np.testing.assert_allclose(vectors[:, :352], pooled, rtol=1e-5, atol=1e-6)
    hard = count_colours(photo, ragged_labels, bins=3, soft=False)
    np.testing.assert_allclose(vectors[:, 352:], np.sqrt(hard), rtol=1e-5)


def test_same_input_same_bytes(backbone, cache, photo, ragged_labels):
    first = extract_regions(photo, ragged_labels, backbone)
    again = extract_regions(photo, ragged_labels, open_builtin("lite2", size=96, threads=2, folder=cache))
    assert first.shape == (9, 120 + 352 + 1280 + 512)
    assert first.tobytes() == again.tobytes()


def test_renumbering_the_regions_renumbers_the_vectors(backbone, photo, ragged_labels):
    order = np.random.default_rng(5).permutation(9)
    vectors = extract_regions(photo, ragged_labels, backbone)
    renumbered = extract_regions(photo, order[ragged_labels], backbone)
    np.testing.assert_array_equal(renumbered[order], vectors)


def test_a_black_photo_has_finite_vectors(backbone):
    vectors = extract_regions(np.zeros((1, 40, 3), np.uint8), np.arange(40)[None] // 10, backbone)
    assert vectors.shape == (4, 2264)
    assert np.isfinite(vectors).all()


def test_an_unknown_backbone_gets_all_its_maps(backbone):
    settings = DeepSettings.for_every_map(backbone)
    assert settings.maps == (MapUse("s16"), MapUse("s32"), MapUse("head"))


def test_what_does_not_fit_is_refused(backbone, photo, ragged_labels):
    with pytest.raises(InputError, match=r"\(60, 90, 3\) and labels \(60, 89\)"):
        extract_regions(photo, ragged_labels[:, 1:], backbone)
    with pytest.raises(InputError, match="gives the maps s16, s32, head"):
        extract_regions(photo, ragged_labels, backbone, settings=DeepSettings(maps=(MapUse("s64"),)))
