"""The ONNX graph against a slow reading of the same state dict: NumPy, float64, batch norm left apart."""

import cv2
import numpy as np
import onnx
import onnxruntime
import pytest

from tagsight.data.photo import read_photo
from tagsight.features.efficientnet import MAP_NAMES, PACKAGES, VARIANTS, build_model, fold_batch_norm

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
    """TensorFlow's SAME: ceil(n / stride) outputs, and the odd row or column of zeros at the end."""
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


def test_the_same_weights_build_the_same_bytes_without_a_classifier_unless_asked(weights, name):
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
