"""Maps and tokens of networks by path, against networks whose maps are plain averages."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.networks import FLOAT, save_model, save_network, save_pooler, save_transformer

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone
from tagsight.features.extractor import ExtractorConfig, open_extractor, pin_extractor
from tagsight.features.network_spec import NetworkSpec
from tagsight.types import Array

RAW = NetworkSpec(mean=(0, 0, 0), scale=(1, 1, 1))


def average_squares(image: Array, side: int) -> Array:
    """(rows, columns, 3) means of squares of an image (h, w, 3)."""
    height, width, _ = image.shape
    return image.reshape(height // side, side, width // side, side, 3).mean(axis=(1, 3))


def draw_photo(height: int, width: int) -> Array:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.mark.parametrize("n_extra", [0, 1, 5])
@pytest.mark.parametrize("patch_size", [14, 16])
def test_tokens_become_a_map_of_the_patches(tmp_path: Path, patch_size: int, n_extra: int) -> None:
    path = save_transformer(tmp_path / "vit.onnx", patch_size=patch_size, n_extra=n_extra)
    photo = draw_photo(3 * patch_size, 5 * patch_size)
    (found,) = Backbone(path, RAW._replace(size=5 * patch_size)).maps(photo)
    assert (found.name, found.values.shape, found.values.dtype) == ("tokens", (3, 5, 3), np.float32)
    np.testing.assert_allclose(found.values, average_squares(photo.astype(float), patch_size), rtol=1e-5)


def test_tokens_and_a_convolutional_map_of_the_same_content_are_the_same_map(tmp_path: Path) -> None:
    spec = RAW._replace(size=96, multiple=32)
    photo = draw_photo(60, 90)
    tokens = Backbone(save_transformer(tmp_path / "vit.onnx"), spec).maps(photo)[0].values
    pooled = Backbone(save_pooler(tmp_path / "cnn.onnx", cell=16), spec).maps(photo)[0].values
    np.testing.assert_array_equal(tokens, pooled)


def test_sides_are_multiples_of_the_patch_size(tmp_path: Path) -> None:
    backbone = Backbone(save_transformer(tmp_path / "vit.onnx", patch_size=14))
    assert backbone.fit_size(375, 500) == (34 * 14, 46 * 14)


@pytest.mark.parametrize(("side", "patch_size", "n_extra"), [(224, 16, 1), (224, 14, 5), (518, 14, 1), (384, 16, 2)])
def test_a_fixed_size_settles_the_patches(tmp_path: Path, side: int, patch_size: int, n_extra: int) -> None:
    path = save_transformer(tmp_path / "vit.onnx", shape=(1, 3, side, side), patch_size=patch_size, n_extra=n_extra)
    backbone = Backbone(path)
    assert backbone.fit_size(375, 500) == (side, side)
    assert backbone.maps(draw_photo(30, 40))[0].values.shape == (side // patch_size, side // patch_size, 3)


def test_a_size_in_the_spec_is_that_of_every_photo(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx", patch_size=14)
    backbone = Backbone(path, NetworkSpec(size=(28, 70)))
    assert backbone.maps(draw_photo(90, 60))[0].values.shape == (2, 5, 3)


def test_every_axis_may_be_free(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx", shape=("batch", "channels", "height", "width"))
    assert Backbone(path, RAW._replace(size=32)).maps(draw_photo(32, 32))[0].values.shape == (2, 2, 3)


def test_an_uncommon_patch_size_is_read_from_the_spec(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx", patch_size=10, n_extra=3)
    with pytest.raises(InputError, match=r"vit\.onnx gives tokens .* no common patch size; give 'patch_size' and"):
        Backbone(path)
    photo = draw_photo(20, 30)
    for drop_tokens in (None, 3):
        spec = RAW._replace(size=30, patch_size=10, drop_tokens=drop_tokens)
        values = Backbone(path, spec).maps(photo)[0].values
        np.testing.assert_allclose(values, average_squares(photo.astype(float), 10), rtol=1e-5)


def test_a_number_of_tokens_that_fits_several_patch_sizes_is_refused(tmp_path: Path) -> None:
    """32 x 32 pixels and 5 tokens: 4 patches of 16 and one token, or one patch of 32 and four tokens."""
    path = save_transformer(tmp_path / "vit.onnx", shape=(1, 3, 32, 32))
    with pytest.raises(InputError, match=r"several patch sizes \(16, 32\); give 'patch_size' and 'drop_tokens'"):
        Backbone(path)
    assert Backbone(path, NetworkSpec(drop_tokens=1)).maps(draw_photo(9, 9))[0].values.shape == (2, 2, 3)


def test_tokens_that_do_not_fit_the_spec_are_refused(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx")
    backbone = Backbone(path, NetworkSpec(size=48, patch_size=16, drop_tokens=2))
    with pytest.raises(InputError, match=r"with 10 tokens for 48 x 48 pixels, not 2 \+ 3 x 3, as patches of 16"):
        backbone.maps(draw_photo(48, 48))


def test_outputs_are_chosen_by_the_spec(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx", also=("double",))
    assert Backbone(path).map_names == ("tokens", "double")
    chosen = Backbone(path, RAW._replace(size=32, outputs=("double",)))
    photo = draw_photo(32, 32)
    (found,) = chosen.maps(photo)
    assert found.name == "double"
    np.testing.assert_allclose(found.values, 2 * average_squares(photo.astype(float), 16), rtol=1e-5)
    with pytest.raises(InputError, match="no 4-D or 3-D output 'pooled'"):
        Backbone(path, NetworkSpec(outputs=("pooled",)))


def test_maps_are_preferred_to_tokens_unless_the_spec_names_the_outputs(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("AveragePool", ["image"], ["map"], kernel_shape=[16, 16], strides=[16, 16]),
        helper.make_node("Reshape", ["map", "shape"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["tokens"], perm=[0, 2, 1]),
    ]
    shape = numpy_helper.from_array(np.array([1, 3, -1]), "shape")
    outputs = [("map", FLOAT, (1, 3, "h", "w")), ("tokens", FLOAT, (1, "T", 3))]
    path = save_model(tmp_path / "both.onnx", nodes, [("image", FLOAT, (1, 3, "H", "W"))], outputs, [shape])
    assert Backbone(path).map_names == ("map",)
    both = Backbone(path, RAW._replace(size=64, outputs=("tokens", "map")))
    tokens, values = both.maps(draw_photo(64, 32))
    np.testing.assert_array_equal(tokens.values, values.values)
    assert Backbone(path, NetworkSpec(output_layout="NTC")).map_names == ("tokens",)


def test_maps_with_channels_last_of_an_image_with_channels_first(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("AveragePool", ["image"], ["pooled"], kernel_shape=[8, 8], strides=[8, 8]),
        helper.make_node("Transpose", ["pooled"], ["map"], perm=[0, 2, 3, 1]),
    ]
    values = [("image", FLOAT, (1, 3, "H", "W"))], [("map", FLOAT, (1, "h", "w", 3))]
    path = save_model(tmp_path / "mixed.onnx", nodes, *values)
    spec = RAW._replace(size=64, output_layout="NHWC")
    photo = draw_photo(32, 64)
    expected = average_squares(photo.astype(float), 8)
    np.testing.assert_allclose(Backbone(path, spec).maps(photo)[0].values, expected, rtol=1e-5)
    assert Backbone(path, spec).fingerprint != Backbone(path, spec._replace(output_layout="NCHW")).fingerprint


def test_nhwc_uint8_networks_get_pixels_as_they_are(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["image"], ["float"], to=FLOAT),
        helper.make_node("Transpose", ["float"], ["nchw"], perm=[0, 3, 1, 2]),
        helper.make_node("AveragePool", ["nchw"], ["pooled"], kernel_shape=[8, 8], strides=[8, 8]),
        helper.make_node("Transpose", ["pooled"], ["map"], perm=[0, 2, 3, 1]),
    ]
    values = [("image", TensorProto.UINT8, ("N", "H", "W", 3))], [("map", FLOAT, ("N", "h", "w", 3))]
    path = save_model(tmp_path / "nhwc.onnx", nodes, *values)
    photo = draw_photo(64, 96)
    (found,) = Backbone(path, NetworkSpec(size=96)).maps(photo)
    np.testing.assert_allclose(found.values, average_squares(photo.astype(float), 8), rtol=1e-5)
    with pytest.raises(InputError, match=r"uint8, so 'mean' and 'scale' have no effect; remove them from .*nhwc\.json"):
        Backbone(path, RAW)


def test_networks_of_half_precision_give_single_precision(tmp_path: Path) -> None:
    node = helper.make_node("MaxPool", ["image"], ["map"], kernel_shape=[8, 8], strides=[8, 8])
    half = TensorProto.FLOAT16
    path = save_model(tmp_path / "half.onnx", [node], [("image", half, (1, 3, "H", "W"))], [("map", half, None)])
    photo = draw_photo(32, 64)
    (found,) = Backbone(path, RAW._replace(size=64, outputs=("map",))).maps(photo)
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values, photo.reshape(4, 8, 8, 8, 3).max(axis=(1, 3)))


def test_a_network_that_fails_on_the_photo_is_named(tmp_path: Path) -> None:
    shape = numpy_helper.from_array(np.array([1, 3, 7, 7]), "shape")
    node = helper.make_node("Reshape", ["image", "shape"], ["map"])
    values = [("image", FLOAT, (1, 3, "H", "W"))], [("map", FLOAT, (1, 3, 7, 7))]
    path = save_model(tmp_path / "rigid.onnx", [node], *values, [shape])
    with pytest.raises(
        InputError, match=r'rigid\.onnx fails on .* \(1, 3, 64, 96\): .*; if .* give "size": \[height, width\] in'
    ):
        Backbone(path, NetworkSpec(size=96)).maps(draw_photo(60, 90))
    assert Backbone(path, NetworkSpec(size=(7, 7))).maps(draw_photo(60, 90))[0].values.shape == (7, 7, 3)


@pytest.mark.parametrize(
    ("inputs", "outputs", "node", "message"),
    [
        ([("image", FLOAT, (1, 4, "H", "W"))], [("map", FLOAT, None)], "Relu", r"image of shape \[1, 4, 'H', 'W'\]"),
        ([("image", FLOAT, (8, 3, "H", "W"))], [("map", FLOAT, None)], "Relu", r"\[8, 3, 'H', 'W'\]"),
        ([("image", FLOAT, (1, 300))], [("map", FLOAT, None)], "Relu", r"\[1, 300\].*a backbone takes"),
        (
            [("image", TensorProto.INT64, (1, 3, "H", "W"))],
            [("map", TensorProto.INT64, None)],
            "Abs",
            "int64",
        ),
        ([("image", FLOAT, (1, 3, 64, "W"))], [("map", FLOAT, None)], "Relu", "fixes one side"),
        (
            [("image", FLOAT, (1, 3, "H", "W"))],
            [("logits", FLOAT, (1, "n"))],
            "Flatten",
            "no 4-D or 3-D output to pool, only logits",
        ),
        (
            [("a", FLOAT, (1, 3, "H", "W")), ("b", FLOAT, (1, 3, "H", "W"))],
            [("map", FLOAT, None)],
            "Add",
            r"inputs \['a', 'b'\]",
        ),
    ],
)
def test_a_network_that_does_not_fit_is_refused_by_name(tmp_path: Path, inputs, outputs, node, message) -> None:
    operator = helper.make_node(node, [name for name, *_ in inputs], [outputs[0][0]])
    path = save_model(tmp_path / "odd.onnx", [operator], inputs, outputs)
    with pytest.raises(InputError, match=rf"odd\.onnx.*{message}"):
        Backbone(path)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", bytes(1000)])
def test_a_file_that_is_not_onnx_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "page.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"page\.onnx"):
        Backbone(path)


def test_a_missing_or_truncated_file_is_refused_by_name(tmp_path: Path, backbone: Backbone) -> None:
    with pytest.raises(InputError, match=r"absent\.onnx"):
        Backbone(tmp_path / "absent.onnx")
    path = tmp_path / "half.onnx"
    path.write_bytes(backbone.path.read_bytes()[:2_000_000])
    with pytest.raises(InputError, match=r"half\.onnx does not load"):
        Backbone(path)


def test_weights_in_a_file_beside_the_model_are_refused(tmp_path: Path) -> None:
    """They could change without the fingerprint changing."""
    import onnx

    path = save_network(tmp_path / "split.onnx")
    Backbone(path)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="split.bin", size_threshold=0)
    with pytest.raises(InputError, match=r"split\.onnx does not load as a self-contained"):
        Backbone(path)


def test_the_fingerprint_follows_the_file_and_the_spec(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx")
    specs = [
        NetworkSpec(),
        NetworkSpec(size=512),
        NetworkSpec(size=(512, 512)),
        NetworkSpec(mean=(0, 0, 0)),
        NetworkSpec(multiple=32),
        NetworkSpec(patch_size=16, drop_tokens=0),
    ]
    prints = [Backbone(path, spec).fingerprint for spec in specs]
    prints += [Backbone(save_transformer(tmp_path / "other.onnx", n_extra=5)).fingerprint]
    assert len(set(prints)) == 7
    assert Backbone(path, NetworkSpec(patch_size=16), threads=2).fingerprint == prints[0]


def test_a_changed_json_file_is_another_network(tmp_path: Path) -> None:
    path = save_transformer(tmp_path / "vit.onnx")
    pinned = pin_extractor(ExtractorConfig(str(path)))
    assert pinned.length == 3 + 512
    (tmp_path / "vit.json").write_text('{"mean": [0, 0, 0]}')
    with pytest.raises(InputError, match=r"vit\.onnx' is not the network that the model was trained with"):
        open_extractor(pinned)
    (tmp_path / "vit.json").write_text('{"patch_size": 16, "drop_tokens": 1, "size": 640}')
    assert open_extractor(pinned).fingerprint == pinned.fingerprint
