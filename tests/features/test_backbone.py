import numpy as np
import pytest
from onnx import TensorProto
from tests.networks import save_pooler

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import open_builtin
from tagsight.features.network_spec import NetworkSpec


def test_builtin_gives_three_maps_that_tile_the_resized_photo(backbone, photo):
    maps = backbone.maps(photo)
    assert backbone.map_names == tuple(found.name for found in maps) == ("s16", "s32", "head")
    assert [found.values.shape for found in maps] == [(4, 6, 120), (2, 3, 352), (2, 3, 1280)]
    assert all(found.values.dtype == np.float32 for found in maps)


def test_the_input_is_rgb_minus_127_over_128(backbone):
    photo = np.zeros((64, 96, 3), np.uint8)
    photo[:] = 255, 127, 0
    tensor = backbone.prepare(photo)
    assert tensor.shape == (1, 3, 64, 96)
    np.testing.assert_array_equal(tensor[0, :, 5, 7], [1.0, 0.0, -127 / 128])


def test_maps_do_not_depend_on_threads_or_memory_order(backbone, cache, photo):
    expected = [m.values for m in backbone.maps(photo)]
    threaded = open_builtin("lite2", size=96, threads=2, folder=cache)
    flipped = photo[:, ::-1].copy()[:, ::-1]
    assert not flipped.flags.c_contiguous
    for maps in (backbone.maps(photo), threaded.maps(photo), backbone.maps(flipped)):
        for found, values in zip(maps, expected, strict=True):
            np.testing.assert_array_equal(found.values, values)


def test_one_map_can_be_computed_alone(backbone, photo):
    (found,) = backbone.maps(photo, ("s32",))
    assert found.name == "s32"
    np.testing.assert_array_equal(found.values, backbone.maps(photo)[1].values)
    with pytest.raises(InputError, match=r"gives the maps s16, s32, head, not \['s8'\]"):
        backbone.maps(photo, ("s8",))


@pytest.mark.parametrize(
    ("photo_size", "input_size"),
    [((375, 500), (480, 640)), ((500, 375), (640, 480)), ((10, 10), (640, 640)), ((1, 3000), (32, 640))],
)
def test_longest_side_becomes_the_size_and_both_are_multiples_of_32(cache, photo_size, input_size):
    assert open_builtin("lite2", folder=cache).fit_size(*photo_size) == input_size


@pytest.mark.parametrize("shape", [(1, 200), (200, 1), (1, 1), (400, 300)])
def test_thin_tiny_and_large_photos_have_finite_maps(backbone, shape):
    maps = backbone.maps(np.full((*shape, 3), 77, np.uint8))
    assert len(maps) == len(backbone.map_names) > 0
    for found in maps:
        assert np.isfinite(found.values).all()


@pytest.mark.parametrize("photo", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_arrays_that_are_not_rgb_photos_are_refused(backbone, photo):
    with pytest.raises(InputError, match="RGB"):
        backbone.maps(photo)


def test_a_network_by_path_gets_the_normalised_photo(tmp_path, photo):
    spec = NetworkSpec(size=96, mean=(10, 20, 30), scale=(2, 4, 5))
    other = Backbone(save_pooler(tmp_path / "pool.onnx"), spec)
    resized = other.prepare(photo)[0].transpose(1, 2, 0)
    (found,) = other.maps(photo)
    assert (found.name, found.values.shape) == ("map", (16, 24, 3))
    means = resized.reshape(16, 4, 24, 4, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(found.values, means, atol=1e-5)
    shade = np.full((96, 96, 3), (12, 28, 35), np.uint8)
    np.testing.assert_allclose(other.maps(shade)[0].values[0, 0], [1, 2, 1], atol=1e-6)


def test_a_fixed_input_size_is_that_of_every_photo(tmp_path, photo):
    path = save_pooler(tmp_path / "fixed.onnx", shape=(1, 3, 40, 80), output=("map", TensorProto.FLOAT, (1, 3, 10, 20)))
    (found,) = Backbone(path).maps(photo)
    assert found.values.shape == (10, 20, 3)
