"""Networks, pooling and features by PyTorch equal those of onnxruntime; on a GPU if there is one, or on the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from onnx import TensorProto, helper
from PIL import Image

from tagsight.errors import InputError
from tagsight.features import prepared
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import MAP_NAMES, build_model, open_builtin
from tagsight.features.extract import extract
from tagsight.features.extractor import (
    DEFAULTS,
    NETWORKS,
    DeepExtractor,
    DeepSettings,
    ExtractorConfig,
    MapUse,
    extract_regions,
    list_blocks,
)
from tagsight.features.photo_features import FeatureCache, PhotoFeatures, extract_photo
from tagsight.features.pooling import compute_cell_weights, compute_colour_histograms, pool_map
from tagsight.features.prepared import PreparedPhoto, weigh_maps

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (tagsight[torch])")

from tagsight.features import torch_extractor  # noqa: E402
from tagsight.features.torch_extractor import TorchExtractor, extract_on_gpu, pool_maps  # noqa: E402
from tagsight.features.torch_network import TorchNetwork  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="module")
def network(weights_by_network: dict[str, dict[str, np.ndarray]]) -> TorchNetwork:
    return TorchNetwork(build_model(weights_by_network["lite2"], "lite2"), DEVICE)


def draw_labels(rng: np.random.Generator, shape: tuple[int, int], n: int) -> np.ndarray:
    labels = rng.integers(0, n, shape).astype(np.int32)
    labels.flat[:n] = np.arange(n)
    return labels


def prepare(pixels: np.ndarray, labels: np.ndarray, backbone: Backbone, settings: DeepSettings) -> PreparedPhoto:
    """As `prepare_photo`, with regions given."""
    images = {use.zoom: backbone.resize(pixels, zoom=use.zoom) for use in settings.maps}
    weights = weigh_maps(labels, images, settings)
    nothing = np.zeros(0, np.int32)
    return PreparedPhoto(
        images, weights, np.sqrt(compute_colour_histograms(pixels, labels)), labels, nothing, nothing, (9, 9)
    )


@pytest.mark.parametrize("size", [(64, 96), (96, 64), (32, 32)])
def test_maps_are_those_of_onnxruntime(network: TorchNetwork, backbone: Backbone, size: tuple[int, int]):
    images = np.random.default_rng(0).normal(size=(2, 3, *size)).astype(np.float32)
    found = network.maps(torch.from_numpy(images).to(DEVICE), MAP_NAMES)
    for number, image in enumerate(images):
        expected = backbone.forward(image[None], MAP_NAMES)
        for values, theirs in zip(found, expected, strict=True):
            assert_allclose(values[number].permute(1, 2, 0).cpu().numpy(), theirs, rtol=1e-4, atol=1e-4)


def test_sides_that_no_stride_divides(network: TorchNetwork, backbone: Backbone):
    image = np.random.default_rng(1).normal(size=(1, 3, 75, 101)).astype(np.float32)
    found = network.maps(torch.from_numpy(image).to(DEVICE), MAP_NAMES)
    for values, theirs in zip(found, backbone.forward(image, MAP_NAMES), strict=True):
        assert_allclose(values[0].permute(1, 2, 0).cpu().numpy(), theirs, rtol=1e-4, atol=1e-4)


def test_a_map_alone_is_the_same(network: TorchNetwork):
    images = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    together = dict(zip(MAP_NAMES, network.maps(images, MAP_NAMES), strict=True))
    for name in MAP_NAMES:
        assert torch.equal(network.maps(images, [name])[0], together[name])


def test_pooling_equals_that_of_the_cpu():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3, 7, 4, 5)).astype(np.float32)
    weights = [compute_cell_weights(draw_labels(rng, (30, 40), n), 4, 5) for n in (6, 1)]
    expected = np.vstack([pool_map(values[i].transpose(1, 2, 0), w) for i, w in enumerate(weights)])
    assert_allclose(pool_maps(torch.from_numpy(values).to(DEVICE), weights).cpu().numpy(), expected, atol=1e-6)


def test_features_equal_those_of_the_cpu_and_keep_their_order(backbone: Backbone):
    rng = np.random.default_rng(3)
    shapes = [(60, 90), (90, 60), (60, 90), (60, 90), (60, 90), (50, 50)]
    pixels = [rng.integers(0, 255, (*shape, 3)).astype(np.uint8) for shape in shapes]
    labels = [draw_labels(rng, shape, 5 + number) for number, shape in enumerate(shapes)]
    extractor = TorchExtractor(backbone, DEFAULTS, DEVICE, batch=3)
    found = extractor.extract([prepare(p, r, backbone, DEFAULTS) for p, r in zip(pixels, labels, strict=True)])
    for photo, p, r in zip(found, pixels, labels, strict=True):
        expected = extract_regions(p, r, backbone)
        assert photo.features.dtype == np.float16
        assert_allclose(photo.features, expected, rtol=2e-3, atol=1e-4)
        assert_array_equal(photo.labels, r)
    assert extractor.blocks == list_blocks(backbone)


def test_maps_at_one_zoom_in_any_order(backbone: Backbone, photo: np.ndarray, ragged_labels: np.ndarray):
    settings = DeepSettings(maps=(MapUse("head", zoom=0.5), MapUse("s16"), MapUse("s32", zoom=0.5)))
    extractor = TorchExtractor(backbone, settings, DEVICE, batch=3)
    (found,) = extractor.extract_batch([prepare(photo, ragged_labels, backbone, settings)])
    expected = extract_regions(photo, ragged_labels, backbone, settings=settings)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_features_do_not_depend_on_the_other_photos(backbone: Backbone):
    rng = np.random.default_rng(4)
    prepared = [
        prepare(rng.integers(0, 255, (60, 90, 3)).astype(np.uint8), draw_labels(rng, (60, 90), n), backbone, DEFAULTS)
        for n in (4, 9, 6)
    ]
    extractor = TorchExtractor(backbone, DEFAULTS, DEVICE, batch=3)
    together = extractor.extract_batch(prepared)
    for alone, vectors in zip(prepared, together, strict=True):
        assert_array_equal(extractor.extract_batch([alone])[0], vectors)


def test_the_gpu_has_another_fingerprint(backbone: Backbone):
    ours, theirs = TorchExtractor(backbone, DEFAULTS, DEVICE, batch=3), DeepExtractor(backbone, DEFAULTS)
    assert ours.blocks == theirs.blocks
    assert ours.fingerprint != theirs.fingerprint
    assert ours.fingerprint != TorchExtractor(backbone, DeepSettings(colour_bins=4), DEVICE).fingerprint


def test_another_network_is_refused():
    node = helper.make_node("Sigmoid", ["image"], ["map"])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("image", "map")]
    model = helper.make_model(helper.make_graph([node], "toy", values[:1], values[1:]))
    with pytest.raises(InputError, match="only built-in networks run by PyTorch, and this one has Sigmoid"):
        TorchNetwork(model.SerializeToString(), DEVICE)


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    """Four photos of two sizes, with a file that is not a photo between them."""
    rng = np.random.default_rng(5)
    paths = [tmp_path / f"{number}.png" for number in range(5)]
    for number in (0, 1, 3, 4):
        blocks = rng.integers(0, 255, (4, 5 - number % 2, 3), np.uint8)
        Image.fromarray(blocks.repeat(12, axis=0).repeat(12, axis=1)).save(paths[number])
    paths[2].write_text("no photo")
    return paths


@pytest.mark.parametrize("features", NETWORKS)
def test_many_photos_are_extracted_cached_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, photos: list[Path], features: str
):
    pytest.importorskip("higra", reason="photos are cut by higra, which is not installed")
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(torch_extractor, "WINDOW", 2)
    monkeypatch.setattr(prepared, "AHEAD", 3)
    backbone = open_builtin(NETWORKS[features])
    monkeypatch.setattr(
        torch_extractor,
        "open_torch_extractor",
        lambda network, device: TorchExtractor(open_builtin(network), DEFAULTS, DEVICE, batch=1),
    )
    first, again = (
        extract(photos, ExtractorConfig(features), n_regions=8, n_workers=workers, device="cuda") for workers in (2, 1)
    )
    assert first == again
    assert [problem.path for problem in first.problems] == [photos[2]]
    assert list(first.photos) == photos[:2] + photos[3:]
    on_cpu = DeepExtractor(backbone, DEFAULTS)
    assert first.cache != FeatureCache.open(on_cpu.fingerprint, 8)
    for path, found in zip(first.photos, first.load(), strict=True):
        expected = extract_photo(path, on_cpu, n_regions=8)
        assert_allclose(found.features, expected.features, rtol=2e-3, atol=1e-4)
        for ours, theirs in zip(found[1:], expected[1:], strict=True):
            assert_array_equal(ours, theirs)


def test_cached_photos_are_not_prepared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, photos: list[Path], backbone: Backbone
):
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))
    cache = FeatureCache.open("ours", 8)
    nothing = np.zeros(0, np.int32)
    made = PhotoFeatures(np.zeros((1, 3), np.float16), np.zeros((2, 2), np.int32), nothing, nothing, (2, 2))
    for path in photos:
        cache.store(cache.locate(path), made)
    extractor = TorchExtractor(backbone, DEFAULTS, DEVICE, batch=3)
    monkeypatch.setattr(prepared, "prepare_photo", lambda *_, **__: pytest.fail("it was prepared again"))
    found = list(extract_on_gpu(photos, "lite2", extractor, cache, 8, 1))
    assert found == [cache.locate(path) for path in photos]
