import errno
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tests.flips import flip_bits

from tagsight.errors import InputError
from tagsight.features import backbone as module
from tagsight.features.backbone import Backbone, cache_builtin
from tagsight.storage.files import locate_cache


def save_model(path, nodes, inputs, outputs, stored=()):
    """Inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        list(stored),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def save_pooler(path, *, shape=(1, 3, "H", "W"), output=("map", TensorProto.FLOAT, (1, 3, "h", "w")), cell=4):
    """A network whose map is the mean of each cell x cell square of its NCHW input."""
    node = helper.make_node("AveragePool", ["image"], [output[0]], kernel_shape=[cell, cell], strides=[cell, cell])
    return save_model(path, [node], [("image", TensorProto.FLOAT, shape)], [output])


def average_squares(image, cell):
    """(3, rows, columns) means of squares of an image (h, w, 3)."""
    h, w, _ = image.shape
    return image.reshape(h // cell, cell, w // cell, cell, 3).mean(axis=(1, 3)).transpose(2, 0, 1)


def test_builtin_gives_three_maps_that_tile_the_resized_photo(backbone, photo):
    s16, s32, head = backbone.maps(photo)
    assert backbone.map_names == ("s16", "s32", "head")
    assert [m.values.shape for m in (s16, s32, head)] == [(120, 4, 6), (352, 2, 3), (1280, 2, 3)]
    assert (s16.stride, s32.stride, head.stride) == ((16, 16), (32, 32), (32, 32))
    assert all(m.values.dtype == np.float32 for m in (s16, s32, head))


def test_the_input_is_rgb_minus_127_over_128(backbone):
    photo = np.zeros((64, 96, 3), np.uint8)
    photo[:] = 255, 127, 0
    tensor = backbone.prepare(photo)
    assert tensor.shape == (1, 3, 64, 96)
    np.testing.assert_array_equal(tensor[0, :, 5, 7], [1.0, 0.0, -127 / 128])


def test_same_photo_same_maps_whatever_the_threads_and_memory_order(backbone, cache, photo):
    expected = [m.values for m in backbone.maps(photo)]
    threaded = Backbone.builtin("lite2", size=96, threads=2, folder=cache)
    flipped = photo[:, ::-1].copy()[:, ::-1]
    assert not flipped.flags.c_contiguous
    for maps in (backbone.maps(photo), threaded.maps(photo), backbone.maps(flipped)):
        for found, values in zip(maps, expected, strict=True):
            np.testing.assert_array_equal(found.values, values)


def test_one_map_may_be_asked_for(backbone, photo):
    (found,) = backbone.maps(photo, ("s32",))
    assert found.name == "s32"
    np.testing.assert_array_equal(found.values, backbone.maps(photo)[1].values)
    with pytest.raises(InputError, match=r"gives the maps s16, s32, head, not \['s8'\]"):
        backbone.maps(photo, ("s8",))


@pytest.mark.parametrize(
    ("photo_size", "seen"),
    [((375, 500), (480, 640)), ((500, 375), (640, 480)), ((10, 10), (640, 640)), ((1, 3000), (32, 640))],
)
def test_longest_side_becomes_the_size_and_both_are_multiples_of_32(cache, photo_size, seen):
    assert Backbone.builtin("lite2", folder=cache).fit_size(*photo_size) == seen


@pytest.mark.parametrize("shape", [(1, 200), (200, 1), (1, 1), (400, 300)])
def test_thin_tiny_and_larger_photos_pass_through(backbone, shape):
    for found in backbone.maps(np.full((*shape, 3), 77, np.uint8)):
        assert np.isfinite(found.values).all()


@pytest.mark.parametrize("photo", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_what_is_no_rgb_photo_is_refused(backbone, photo):
    with pytest.raises(InputError, match="RGB"):
        backbone.maps(photo)


def test_the_graph_is_built_once_and_rebuilt_when_its_code_or_weights_change(tmp_path, monkeypatch):
    builds = []
    monkeypatch.setattr(module, "_build_builtin", lambda name: builds.append(name) or b"graph")
    first = cache_builtin("lite2", tmp_path)
    assert cache_builtin("lite2", tmp_path) == first
    assert builds == ["lite2"]
    read = module.read_bytes
    monkeypatch.setattr(
        module, "read_bytes", lambda path: read(path) + (b" " if path.name == "efficientnet.py" else b"")
    )
    assert cache_builtin("lite2", tmp_path) != first
    assert builds == ["lite2"] * 2
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".onnx", ".onnx"]


def test_built_in_networks_do_not_share_a_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_build_builtin", lambda name: name.encode())
    for _ in range(2):
        assert [cache_builtin(name, tmp_path).read_bytes() for name in ("lite0", "lite2")] == [b"lite0", b"lite2"]


def test_the_small_network_has_maps_and_a_fingerprint_of_its_own(cache, backbone, photo):
    small = Backbone.builtin("lite0", size=96, folder=cache)
    assert [m.values.shape for m in small.maps(photo)] == [(112, 4, 6), (320, 2, 3), (1280, 2, 3)]
    assert small.fingerprint != backbone.fingerprint


def test_a_damaged_graph_is_built_again(tmp_path):
    opened = Backbone.builtin("lite2", size=96, folder=tmp_path)
    whole = opened.path.read_bytes()
    for damaged in (*flip_bits(whole, 3), whole[: len(whole) // 2], b"", b"something else"):
        opened.path.write_bytes(damaged)
        assert Backbone.builtin("lite2", size=96, folder=tmp_path).fingerprint == opened.fingerprint
        assert opened.path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [opened.path]


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_build_builtin", lambda _: b"graph")

    def fail(*_):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="disk full; free some space or point TAGSIGHT_CACHE elsewhere"):
        cache_builtin("lite2", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TAGSIGHT_CACHE", raising=False)
    assert locate_cache() == tmp_path / "tagsight"
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "own"))
    assert locate_cache() == tmp_path / "own"


def test_a_built_in_network_is_made_and_opened_without_onnx_or_torch(tmp_path):
    code = (
        "import sys; from pathlib import Path; from tagsight.features.backbone import Backbone;"
        f"Backbone.builtin('lite2', folder=Path({str(tmp_path)!r})); assert not {{'onnx', 'torch'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_another_network_by_path_sees_the_normalised_photo(tmp_path, photo):
    other = Backbone(save_pooler(tmp_path / "pool.onnx"), size=96, mean=(10, 20, 30), scale=(2, 4, 5))
    resized = other.prepare(photo)[0].transpose(1, 2, 0)
    (found,) = other.maps(photo)
    assert (found.name, found.stride, found.values.shape) == ("map", (4, 4), (3, 16, 24))
    np.testing.assert_allclose(found.values, average_squares(resized, 4), atol=1e-5)
    shade = np.full((96, 96, 3), (12, 28, 35), np.uint8)
    np.testing.assert_allclose(other.maps(shade)[0].values[:, 0, 0], [1, 2, 1], atol=1e-6)


def test_a_fixed_input_size_is_obeyed(tmp_path, photo):
    path = save_pooler(tmp_path / "fixed.onnx", shape=(1, 3, 40, 80), output=("map", TensorProto.FLOAT, (1, 3, 10, 20)))
    (found,) = Backbone(path).maps(photo)
    assert found.values.shape == (3, 10, 20)
    assert found.stride == (4, 4)


def test_nhwc_uint8_networks_get_raw_pixels_and_give_channels_first(tmp_path):
    nodes = [
        helper.make_node("Cast", ["image"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["float"], ["nchw"], perm=[0, 3, 1, 2]),
        helper.make_node("AveragePool", ["nchw"], ["pooled"], kernel_shape=[8, 8], strides=[8, 8]),
        helper.make_node("Transpose", ["pooled"], ["map"], perm=[0, 2, 3, 1]),
    ]
    path = save_model(
        tmp_path / "nhwc.onnx",
        nodes,
        [("image", TensorProto.UINT8, ("N", "H", "W", 3))],
        [("map", TensorProto.FLOAT, ("N", "h", "w", 3))],
    )
    photo = np.random.default_rng(0).integers(0, 256, (64, 96, 3)).astype(np.uint8)
    (found,) = Backbone(path, size=96).maps(photo)
    assert found.stride == (8, 8)
    np.testing.assert_allclose(found.values, average_squares(photo.astype(float), 8), rtol=1e-5)


def test_the_fingerprint_follows_the_file_and_the_settings(tmp_path):
    four, eight = save_pooler(tmp_path / "4.onnx"), save_pooler(tmp_path / "8.onnx", cell=8)
    prints = [
        Backbone(four).fingerprint,
        Backbone(eight).fingerprint,
        Backbone(four, size=512).fingerprint,
        Backbone(four, mean=(0, 0, 0)).fingerprint,
    ]
    assert len(set(prints)) == 4
    assert Backbone(four, threads=2).fingerprint == prints[0]


FLOAT = TensorProto.FLOAT


@pytest.mark.parametrize(
    ("inputs", "outputs", "node", "complaint"),
    [
        (
            [("image", FLOAT, (1, 4, "H", "W"))],
            [("map", FLOAT, None)],
            "Relu",
            r"image of shape \[1, 4, 'H', 'W'\]",
        ),
        ([("image", FLOAT, (8, 3, "H", "W"))], [("map", FLOAT, None)], "Relu", r"\[8, 3, 'H', 'W'\]"),
        ([("image", FLOAT, (1, 300))], [("map", FLOAT, None)], "Relu", r"\[1, 300\].*a backbone takes"),
        (
            [("image", TensorProto.INT64, (1, 3, "H", "W"))],
            [("map", TensorProto.INT64, None)],
            "Abs",
            "int64",
        ),
        ([("image", FLOAT, (1, 3, 64, "W"))], [("map", FLOAT, None)], "Relu", "settles one side"),
        (
            [("image", FLOAT, (1, 3, "H", "W"))],
            [("logits", FLOAT, (1, "n"))],
            "Flatten",
            "no 4-D output to pool, only logits",
        ),
        (
            [("a", FLOAT, (1, 3, "H", "W")), ("b", FLOAT, (1, 3, "H", "W"))],
            [("map", FLOAT, None)],
            "Add",
            r"inputs \['a', 'b'\]",
        ),
    ],
)
def test_a_network_that_does_not_fit_is_refused_by_name(tmp_path, inputs, outputs, node, complaint):
    operator = helper.make_node(node, [name for name, *_ in inputs], [outputs[0][0]])
    path = save_model(tmp_path / "odd.onnx", [operator], inputs, outputs)
    with pytest.raises(InputError, match=rf"odd\.onnx.*{complaint}"):
        Backbone(path)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", bytes(1000)])
def test_a_file_that_is_no_onnx_is_refused_by_name(tmp_path, content):
    path = tmp_path / "page.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"page\.onnx"):
        Backbone(path)


def test_a_missing_or_truncated_file_is_refused_by_name(tmp_path, backbone):
    with pytest.raises(InputError, match=r"absent\.onnx"):
        Backbone(tmp_path / "absent.onnx")
    path = tmp_path / "half.onnx"
    path.write_bytes(backbone.path.read_bytes()[:2_000_000])
    with pytest.raises(InputError, match=r"half\.onnx does not load"):
        Backbone(path)


def test_weights_in_a_file_beside_the_model_are_refused(tmp_path):
    """They could change without the fingerprint changing."""
    kernel = onnx.numpy_helper.from_array(np.ones((8, 3, 4, 4), np.float32), "kernel")
    node = helper.make_node("Conv", ["image", "kernel"], ["map"], strides=[4, 4])
    path = save_model(
        tmp_path / "split.onnx",
        [node],
        [("image", FLOAT, (1, 3, "H", "W"))],
        [("map", FLOAT, (1, 8, "h", "w"))],
        [kernel],
    )
    Backbone(path)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="split.bin", size_threshold=0)
    with pytest.raises(InputError, match=r"split\.onnx does not load as a self-contained"):
        Backbone(path)


def test_a_network_that_fails_on_the_photo_is_named(tmp_path, photo):
    shape = onnx.numpy_helper.from_array(np.array([1, 3, 7, 7]), "shape")
    node = helper.make_node("Reshape", ["image", "shape"], ["map"])
    path = save_model(
        tmp_path / "rigid.onnx",
        [node],
        [("image", FLOAT, (1, 3, "H", "W"))],
        [("map", FLOAT, (1, 3, 7, 7))],
        [shape],
    )
    with pytest.raises(InputError, match=r"rigid\.onnx fails on an input of shape \(1, 3, 64, 96\)"):
        Backbone(path, size=96).maps(photo)


def test_settings_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(InputError, match="size 16 and multiple 32"):
        Backbone(save_pooler(tmp_path / "pool.onnx"), size=16)
