"""Extractors open from their configuration, and deep vectors are pooled maps and colours."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from tests.networks import save_network

from tagsight.errors import InputError
from tagsight.features import extractor as module
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import build_model, open_builtin
from tagsight.features.extractor import (
    NETWORKS,
    DeepSettings,
    ExtractorConfig,
    MapUse,
    extract_regions,
    list_blocks,
    open_extractor,
    pin_extractor,
    relocate_network,
)
from tagsight.features.pooling import compute_cell_weights, compute_colour_histograms, pool_map
from tagsight.features.transforms import Block

# Fingerprints of the built-in networks with default settings. If one changes, earlier models are refused.
FINGERPRINTS = {
    "deep": "7f3a3cbe52b199ac7f8cec8abbef0e2619d200ebceaa77ec723a04916903f1b0",
    "deep-small": "4176f539b088e91cf0998cd7f1f291322d68f370edfdc372ced3069be547c2db",
}
LENGTHS = {"deep": 120 + 352 + 1280 + 512, "deep-small": 112 + 320 + 1280 + 512}
# Hashes of the graphs of the present GRAPH_REVISION: increase it if you change these.
GRAPHS = {
    "deep": "65ea79ccf95fa2fe6f2712b562157236b6e38b6a9436719fa3c847e494b66422",
    "deep-small": "2d0c2c784eb490e1aa86dfdc9595a3192aee6882179220086cdf9a116b5dad00",
}


def test_a_pinned_configuration_opens_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_network(tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    extractor_config = pin_extractor(ExtractorConfig("net.onnx"))
    monkeypatch.chdir("/")
    assert open_extractor(extractor_config).fingerprint == extractor_config.fingerprint
    assert extractor_config == ExtractorConfig(str(tmp_path / "net.onnx"), None, extractor_config.fingerprint, 2 + 512)


def test_a_changed_network_is_refused_by_name(tmp_path: Path) -> None:
    path = save_network(tmp_path / "net.onnx")
    extractor_config = pin_extractor(ExtractorConfig(str(path)))
    save_network(path, gain=1.5)
    with pytest.raises(
        InputError,
        match=r"net\.onnx' is not the network that the model was trained with; give the path of that network",
    ):
        open_extractor(extractor_config)
    with pytest.raises(InputError, match=r"for vectors of 514 numbers, and .* gives 515"):
        open_extractor(ExtractorConfig(str(save_network(path, channels=3)), None, None, 514))
    path.unlink()
    with pytest.raises(InputError, match=r"net\.onnx' that the model was trained with is missing"):
        open_extractor(extractor_config)
    save_network(path)
    assert open_extractor(extractor_config).fingerprint == extractor_config.fingerprint


def test_a_moved_network_is_opened_from_its_new_path(tmp_path: Path) -> None:
    path = save_network(tmp_path / "net.onnx")
    extractor_config = pin_extractor(ExtractorConfig(str(path)))
    moved = path.rename(tmp_path / "moved.onnx")
    relocated = relocate_network(extractor_config, moved)
    assert relocated == extractor_config._replace(features=str(moved))
    assert open_extractor(relocated).fingerprint == extractor_config.fingerprint


def test_a_backbone_that_does_not_fit_the_model_is_refused_by_name(tmp_path: Path) -> None:
    extractor_config = pin_extractor(ExtractorConfig(str(save_network(tmp_path / "net.onnx"))))
    other = save_network(tmp_path / "other.onnx", gain=1.5)
    with pytest.raises(InputError, match=r"other\.onnx' is not the network that the model was trained with; give the"):
        relocate_network(extractor_config, other)
    with pytest.raises(InputError, match=r"there is no backbone '.*absent\.onnx'"):
        relocate_network(extractor_config, tmp_path / "absent.onnx")
    with pytest.raises(InputError, match=r"the built-in features 'deep', and '.*other\.onnx' was given"):
        relocate_network(ExtractorConfig("deep"), other)


@pytest.mark.parametrize(("features", "fingerprint"), [("deep", FINGERPRINTS["deep-small"]), ("deep-small", "0" * 64)])
def test_another_builtin_network_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, features: str, fingerprint: str
) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(cache))
    with pytest.raises(InputError, match="the built-in network is not the network that the model was trained with"):
        open_extractor(ExtractorConfig(features, None, fingerprint))


def test_a_path_that_is_not_valid_unicode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not valid Unicode text; rename the file"):
        pin_extractor(ExtractorConfig(str(tmp_path / "\udcff.onnx")))


@pytest.mark.parametrize("features", NETWORKS)
def test_fingerprints_do_not_depend_on_machine_or_libraries(
    cache: Path,
    weights_by_network: dict[str, dict[str, np.ndarray]],
    monkeypatch: pytest.MonkeyPatch,
    features: str,
) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(cache))
    extractor_config = pin_extractor(ExtractorConfig(features))
    assert (extractor_config.fingerprint, extractor_config.length) == (FINGERPRINTS[features], LENGTHS[features])
    original = module.open_builtin

    def rewrite(name: str) -> Backbone:
        """The same graph in other bytes, as another version of tagsight might write it."""
        model = onnx.load_model_from_string(original(name).path.read_bytes())
        model.producer_version = "99"
        path = cache / "other.onnx"
        path.write_bytes(model.SerializeToString())
        monkeypatch.setattr("tagsight.features.efficientnet.cache_builtin", lambda name, folder: path)
        return original(name)

    monkeypatch.setattr(module, "open_builtin", rewrite)
    assert pin_extractor(ExtractorConfig(features)) == extractor_config
    network = NETWORKS[features]
    assert (
        hash_graph(onnx.load_model_from_string(build_model(weights_by_network[network], network))) == GRAPHS[features]
    )


def hash_graph(model: onnx.ModelProto) -> str:
    total = sha256()
    for node in model.graph.node:
        attributes = sorted((one.name, repr(helper.get_attribute_value(one))) for one in node.attribute)
        total.update(repr((node.op_type, list(node.input), list(node.output), attributes)).encode())
    for stored in model.graph.initializer:
        values = numpy_helper.to_array(stored)
        total.update(repr((stored.name, values.shape, str(values.dtype))).encode() + values.tobytes())
    return total.hexdigest()


def test_a_vector_is_its_pooled_maps_and_colours_side_by_side(backbone, photo, ragged_labels):
    settings = DeepSettings(maps=(MapUse("head", zoom=0.7), MapUse("s16")), colour_weight=0.75)
    vectors = extract_regions(photo, ragged_labels, backbone, settings=settings)
    assert vectors.shape == (9, 1280 + 120 + 512)
    assert vectors.dtype == np.float32
    blocks = np.split(vectors, [1280, 1400], axis=1)
    for block, name, zoom in zip(blocks, ("head", "s16"), (0.7, 1.0), strict=False):
        values = backbone.maps(photo, (name,), zoom=zoom)[0].values
        np.testing.assert_allclose(
            block, pool_map(values, compute_cell_weights(ragged_labels, *values.shape[:2])), rtol=1e-5
        )
    np.testing.assert_allclose(blocks[2] ** 2, compute_colour_histograms(photo, ragged_labels), atol=1e-6)
    assert list_blocks(backbone, settings) == (Block(1280, 1.0, 1.0), Block(120, 1.0, 1.0), Block(512, 0.75, 1.0))


def test_a_smaller_zoom_gives_fewer_cells(backbone, photo):
    large, small = (backbone.maps(photo, ("head",), zoom=zoom)[0].values for zoom in (1.0, 0.4))
    assert small.shape[0] < large.shape[0]


def test_settings_reach_pooling_and_colour(backbone, photo, ragged_labels):
    settings = DeepSettings(maps=(MapUse("s32"),), interpolation="nearest", colour_bins=3, colour_soft=False)
    vectors = extract_regions(photo, ragged_labels, backbone, settings=settings)
    assert vectors.shape == (9, 352 + 27)
    s32 = backbone.maps(photo, ("s32",))[0].values
    pooled = pool_map(s32, compute_cell_weights(ragged_labels, *s32.shape[:2], interpolation="nearest"))
    np.testing.assert_allclose(vectors[:, :352], pooled, rtol=1e-5, atol=1e-6)
    hard = compute_colour_histograms(photo, ragged_labels, bins=3, soft=False)
    np.testing.assert_allclose(vectors[:, 352:], np.sqrt(hard), rtol=1e-5)


def test_equal_input_gives_equal_bytes(backbone, cache, photo, ragged_labels):
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


def test_a_network_of_the_user_gives_all_its_maps(backbone):
    settings = DeepSettings.for_every_map(backbone)
    assert settings.maps == (MapUse("s16"), MapUse("s32"), MapUse("head"))


def test_labels_and_maps_that_do_not_fit_are_refused(backbone, photo, ragged_labels):
    with pytest.raises(InputError, match=r"\(60, 90, 3\) and labels \(60, 89\)"):
        extract_regions(photo, ragged_labels[:, 1:], backbone)
    with pytest.raises(InputError, match="gives the maps s16, s32, head"):
        extract_regions(photo, ragged_labels, backbone, settings=DeepSettings(maps=(MapUse("s64"),)))
