"""The graphs of the built-in networks against NumPy in float64 without folding batch norm, and their cache."""

import errno
import os
import subprocess
import sys

import cv2
import numpy as np
import onnx
import onnxruntime
import pytest
from tests.flips import flip_bits

from tagsight.data.photo import read_photo
from tagsight.errors import InputError
from tagsight.features import efficientnet as module
from tagsight.features.efficientnet import (
    MAP_NAMES,
    PACKAGES,
    VARIANTS,
    build_model,
    cache_builtin,
    fold_batch_norm,
    open_builtin,
)
from tagsight.storage.files import locate_cache

STAGES = {  # repeats, kernel, stride, expansion, output channels: the tables of the EfficientNet-Lite release
    "lite0": [
        (1, 3, 1, 1, 16),
        (2, 3, 2, 6, 24),
        (2, 5, 2, 6, 40),
        (3, 3, 2, 6, 80),
        (3, 5, 1, 6, 112),
        (4, 5, 2, 6, 192),
        (1, 3, 1, 6, 320),
    ],
    "lite2": [
        (1, 3, 1, 1, 16),
        (3, 3, 2, 6, 24),
        (3, 5, 2, 6, 48),
        (4, 3, 2, 6, 88),
        (4, 5, 1, 6, 120),
        (5, 5, 2, 6, 208),
        (1, 3, 1, 6, 352),
    ],
}


def convolve_same(x, kernel, *, stride, depthwise):
    """TensorFlow's SAME padding: ceil(n / stride) outputs, and the odd row or column of zeros at the end."""
    k = kernel.shape[2]
    padding = []
    for n in x.shape[1:]:
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        padding.append((total // 2, total - total // 2))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), *padding]), (k, k), axis=(1, 2))
    windows = windows[:, ::stride, ::stride]
    if depthwise:
        return np.einsum("cyxij,cij->cyx", windows, kernel[:, 0])
    return np.tensordot(kernel, windows, axes=([1, 2, 3], [0, 3, 4]))


class Oracle:
    def __init__(self, weights, name):
        self.stages = STAGES[name]
        self.weights = {name: values.astype(np.float64) for name, values in weights.items()}

    def layer(self, x, convolution, norm, *, stride=1, depthwise=False, relu6=True):
        x = convolve_same(x, self.weights[f"{convolution}.weight"], stride=stride, depthwise=depthwise)
        mean, var, gamma, beta = (
            self.weights[f"{norm}.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias")
        )
        x = (x - mean) / np.sqrt(var + 1e-3) * gamma + beta
        return np.clip(x, 0, 6) if relu6 else x

    def run(self, image):
        x = self.layer(image, "_conv_stem", "_bn0", stride=2)
        index, outputs = 0, []
        for repeats, kernel, stride, expansion, channels in self.stages:
            for repeat in range(repeats):
                block = f"_blocks.{index}"
                y = x
                if expansion > 1:
                    y = self.layer(y, f"{block}._expand_conv", f"{block}._bn0")
                    assert len(y) == expansion * len(x)
                step = stride if repeat == 0 else 1
                assert self.weights[f"{block}._depthwise_conv.weight"].shape[2] == kernel
                y = self.layer(y, f"{block}._depthwise_conv", f"{block}._bn1", stride=step, depthwise=True)
                y = self.layer(y, f"{block}._project_conv", f"{block}._bn2", relu6=False)
                assert len(y) == channels
                x = y + x if y.shape == x.shape and step == 1 else y
                index += 1
            outputs.append(x)
        head = self.layer(x, "_conv_head", "_bn1")
        logits = self.weights["_fc.weight"] @ head.mean(axis=(1, 2)) + self.weights["_fc.bias"]
        return {"s16": outputs[4], "s32": outputs[6], "head": head, "logits": logits}


@pytest.fixture(scope="module", params=["lite0", "lite2"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def weights(weights_by_network, name):
    return weights_by_network[name]


@pytest.fixture(scope="module")
def session(weights, name):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(build_model(weights, name, logits=True), options)


def test_every_built_in_network_is_tested():
    assert PACKAGES.keys() == VARIANTS.keys() == STAGES.keys()


@pytest.mark.parametrize("shape", [(64, 96), (75, 101), (33, 32)])
def test_every_output_agrees_with_the_oracle_at_even_and_odd_sizes(session, weights, name, shape):
    image = np.random.default_rng(0).normal(size=(3, *shape)).astype(np.float32)
    names = [*MAP_NAMES, "logits"]
    found = session.run(names, {"image": image[None]})
    expected = Oracle(weights, name).run(image.astype(np.float64))
    for output, values in zip(names, found, strict=True):
        np.testing.assert_allclose(values[0], expected[output], rtol=1e-3, atol=1e-4, err_msg=output)


def test_channels_and_strides_are_the_documented_ones(session, name):
    s16, s32, head = session.run(list(MAP_NAMES), {"image": np.zeros((1, 3, 96, 160), np.float32)})
    assert s16.shape == (1, {"lite0": 112, "lite2": 120}[name], 6, 10)
    assert s32.shape == (1, {"lite0": 320, "lite2": 352}[name], 3, 5)
    assert head.shape == (1, 1280, 3, 5)
    assert head.min() >= 0
    assert head.max() <= 6


def test_folded_batch_norm_is_convolution_then_batch_norm(weights, name):
    kernel, bias = fold_batch_norm(weights, "_conv_head", "_bn1")
    x = np.random.default_rng(1).normal(size=(kernel.shape[1], 2, 2))
    folded = np.einsum("oi,iyx->oyx", kernel[:, :, 0, 0], x) + bias[:, None, None]
    apart = Oracle(weights, name).layer(x, "_conv_head", "_bn1", relu6=False)
    np.testing.assert_allclose(folded, apart, rtol=1e-4, atol=1e-5)


def test_equal_weights_build_equal_bytes_without_a_classifier(weights, name):
    content = build_model(weights, name)
    assert content == build_model(weights, name)
    model = onnx.load_model_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    assert content == model.SerializeToString(deterministic=True)
    assert [output.name for output in model.graph.output] == list(MAP_NAMES)
    assert not any(tensor.name.startswith("_fc") for tensor in model.graph.initializer)


@pytest.mark.parametrize(
    ("photo", "imagenet_class"),
    [
        ("2008_000002", 851),  # television
        ("2008_000003", 705),  # passenger car
        ("2008_000007", 510),  # container ship
        ("2008_000021", 895),  # warplane
        ("2008_000027", 817),  # sports car
    ],
)
def test_real_photos_get_their_imagenet_class(session, photo, imagenet_class, real_data):
    path = real_data / f"apascal/VOCdevkit/VOC2008/JPEGImages/{photo}.jpg"
    pixels = cv2.resize(read_photo(path).pixels, (320, 256))
    image = (pixels.transpose(2, 0, 1)[None].astype(np.float32) - 127) / 128
    (logits,) = session.run(["logits"], {"image": image})
    assert np.argmax(logits) == imagenet_class


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
    small = open_builtin("lite0", size=96, folder=cache)
    assert [m.values.shape for m in small.maps(photo)] == [(4, 6, 112), (2, 3, 320), (2, 3, 1280)]
    assert small.fingerprint != backbone.fingerprint


def test_a_damaged_graph_is_built_again(tmp_path):
    opened = open_builtin("lite2", size=96, folder=tmp_path)
    whole = opened.path.read_bytes()
    for damaged in (*flip_bits(whole, 3), whole[: len(whole) // 2], b"", b"something else"):
        opened.path.write_bytes(damaged)
        assert open_builtin("lite2", size=96, folder=tmp_path).fingerprint == opened.fingerprint
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
        "import sys; from pathlib import Path; from tagsight.features.efficientnet import open_builtin;"
        f"open_builtin('lite2', folder=Path({str(tmp_path)!r})); assert not {{'onnx', 'torch'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
