"""The model file: round trip, and a clear refusal of everything else."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, save_file

from tagsight.classifiers.attributes import AttributeClassifier
from tagsight.classifiers.calibration import Calibration
from tagsight.classifiers.photo_prior import PhotoPrior
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.score import ClassifierWeights, RegionClassifiers
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.estimator import StackedIBP
from tagsight.features.codebook import Projection
from tagsight.features.extractor import ExtractorConfig, open_extractor
from tagsight.features.views import Views
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.model.planted import draw_appearance, draw_planted
from tagsight.predict.model_file import load_model, save_model
from tagsight.predict.predictor import Calibrations, Embedding, FittedParts, Predictor
from tagsight.predict.trained_model import ExampleCrop, TrainedModel, Training
from tagsight.storage.tensor_file import read_tensors, save_tensors

# The fingerprint of features by EfficientNet-Lite0.
DEEP_SMALL = "4176f539b088e91cf0998cd7f1f291322d68f370edfdc372ced3069be547c2db"


def _reader(length: int, classes: int, seed: int) -> Linear:
    rng = np.random.default_rng(seed)
    return Linear(rng.random((length, classes), np.float32), rng.random(classes, np.float32))


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return make_model()


def make_model(noise: str = "isotropic", **choices: Any) -> TrainedModel:
    data = draw_planted(draw_appearance(5, 6, seed=0), 2, n_photos=20, n_regions=5, tags_per_photo=2, seed=0)
    fitted = StackedIBP(2, 1, 2, noise=noise, max_sweeps=2000, **choices).fit(
        data.X.astype(np.float32), data.tags, groups=data.groups
    )
    basis = np.eye(8, 6, dtype=np.float32)
    return TrainedModel(
        Vocabulary(("dog", "кот"), ("furry",)),
        ExtractorConfig("deep", None, "0f" * 32, 8),
        40,
        Predictor(
            Embedding(
                Views(np.array([5, 8]), np.array([0.7, 1.0]), np.array([0.5, 2.0]), 0.25),
                Projection(basis, np.zeros(6, np.float32)),
            ),
            FittedParts(
                fitted._learned,
                None,
                None,
                RegionClassifiers(
                    _reader(8, 2, 0),
                    _reader(6, 3, 1),
                    AttributeClassifier(
                        _reader(6, 1, 2), *np.array([[[0.5], [1.0], [-1.0]], [[0.2], [0.4], [0.6]]], np.float32)
                    ),
                    np.arange(24, dtype=np.float32).reshape(3, 8),
                    ClassifierWeights(attribute_likelihood=0.3),
                    0.6,
                    -1.5,
                ),
            ),
            Calibrations(Calibration(0.5, -1.0, 0.02, 0.3), Calibration(1.0, 0.0, None)),
        ),
        ((ExampleCrop(3.5, b"abc"), ExampleCrop(2.0, b"de")), (), (ExampleCrop(1.0, b"f"),), (), ()),
        Training(20, 0, tuple(fitted.bound_), "0.1.0"),
    )


@pytest.fixture
def path(model: TrainedModel, tmp_path: Path) -> Path:
    save_model(model, tmp_path / "a.model")
    return tmp_path / "a.model"


def assert_same(a: object, b: object) -> None:
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert_array_equal(a, np.asarray(b), strict=True)
    else:
        assert not isinstance(b, np.ndarray)
        assert a == b


def test_a_model_comes_back_as_it_was(model: TrainedModel, path: Path) -> None:
    again = load_model(path)
    learned = model.predictor.parts.learned
    sparsity = learned.state.sparsity._replace(bound=0.0)  # only training needs its share of the bound
    learned = learned._replace(state=learned.state._replace(sparsity=sparsity))
    parts = model.predictor.parts._replace(learned=learned)
    assert_same(again, model._replace(predictor=model.predictor._replace(parts=parts)))
    assert again.factor_names == ("dog", "кот", "furry", "free-1", "free-2")


def test_a_full_noise_covariance_comes_back_as_it_was(tmp_path: Path) -> None:
    model = make_model("full")
    save_model(model, tmp_path / "a.model")
    learned = load_model(tmp_path / "a.model").predictor.parts.learned
    assert learned.settings.noise == "full"
    assert_same(learned.state.inverse_shape, model.predictor.parts.learned.state.inverse_shape)
    assert_same(learned.summary, model.predictor.parts.learned.summary)
    header, tensors, _ = read_tensors(tmp_path / "a.model")
    assert header is not None
    for name in ("inverse_shape", "summary.square"):
        save_tensors(tmp_path / "b.model", header, {**tensors, name: np.zeros((2, 2))})
        with pytest.raises(InputError, match=rf"'{name}' must have shape \(6, 6\)"):
            load_model(tmp_path / "b.model")
    for name, wrong in (
        ("inverse_shape", -np.eye(6)),
        ("inverse_shape", np.zeros((6, 6))),
        ("summary.square", -np.eye(6)),
    ):
        save_tensors(tmp_path / "b.model", header, {**tensors, name: wrong})
        with pytest.raises(InputError, match=rf"'{name}' must be symmetric"):
            load_model(tmp_path / "b.model")


def test_exclusive_factors_and_shrinkage_come_back_as_they_were(tmp_path: Path) -> None:
    model = make_model(exclusive=True, shrinkage=2.5, attribute_shrinkage=20.0)
    save_model(model, tmp_path / "a.model")
    settings = load_model(tmp_path / "a.model").predictor.parts.learned.settings
    assert settings == model.predictor.parts.learned.settings
    assert (settings.exclusive, settings.shrinkage, settings.attribute_shrinkage) == (True, 2.5, 20.0)


def test_attributes_of_objects_come_back_as_they_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    attributes = ObjectAttributes(rng.uniform(0.1, 0.9, (2, 1)), rng.normal(size=(1, 6)), rng.normal(size=(1, 6)))
    model = make_model()
    parts = model.predictor.parts._replace(classifiers=None, object_attributes=attributes)
    model = model._replace(predictor=model.predictor._replace(parts=parts))
    save_model(model, tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    assert again.predictor.parts.object_attributes is not None
    assert_same(again.predictor.parts.object_attributes, attributes)
    save_model(again, tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == (tmp_path / "a.model").read_bytes()
    header, tensors, _ = read_tensors(tmp_path / "a.model")
    assert header is not None
    for name, wrong, says in (
        ("probability", np.full((2, 1), 1.5), "must lie between 0.001 and 0.995"),
        ("probability", np.zeros((3, 1)) + 0.5, r"must have shape \(2, 1\)"),
        ("effect", np.full((1, 6), np.nan), "has NaN or infinity"),
        ("weights", np.zeros((1, 5)), r"must have shape \(1, 6\)"),
    ):
        save_tensors(tmp_path / "b.model", header, {**tensors, f"object_attributes.{name}": wrong})
        with pytest.raises(InputError, match=f"'object_attributes.{name}' {says}"):
            load_model(tmp_path / "b.model")
    save_tensors(tmp_path / "b.model", {**header, "attributes_of": "regions"}, tensors)
    with pytest.raises(InputError, match=r"unknown tensor 'object_attributes\.effect'"):
        load_model(tmp_path / "b.model")


def test_a_photo_prior_comes_back_as_it_was(tmp_path: Path) -> None:
    prior = PhotoPrior(*_reader(8, 2, 0), 30.0)
    model = make_model()
    parts = model.predictor.parts._replace(classifiers=None, photo_prior=prior)
    save_model(model._replace(predictor=model.predictor._replace(parts=parts)), tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    assert again.predictor.parts.photo_prior is not None
    assert_same(again.predictor.parts.photo_prior, prior)
    header, tensors, _ = read_tensors(tmp_path / "a.model")
    assert header is not None
    for value in (-1.0, "30", float("nan")):
        save_tensors(tmp_path / "b.model", {**header, "photo_prior": value}, tensors)
        with pytest.raises(InputError, match="'photo_prior' of its header must be a number"):
            load_model(tmp_path / "b.model")
    save_tensors(tmp_path / "b.model", {**header, "photo_prior": None}, tensors)
    with pytest.raises(InputError, match=r"unknown tensor 'photo_prior\.offset'"):
        load_model(tmp_path / "b.model")
    save_tensors(tmp_path / "b.model", header, {**tensors, "photo_prior.weights": np.zeros((8, 3), np.float32)})
    with pytest.raises(InputError, match=r"'photo_prior\.weights' must have shape \(8, 2\)"):
        load_model(tmp_path / "b.model")


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "0.5", None])
def test_a_wrong_photo_effect_is_refused(path: Path, tmp_path: Path, value: Any) -> None:
    header, tensors, _ = read_tensors(path)
    save_tensors(tmp_path / "b.model", {**(header or {}), "photo_effect": value}, tensors)
    with pytest.raises(InputError, match="'photo_effect' of its header must be a number from 0 to 1"):
        load_model(tmp_path / "b.model")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("exclusive", 3, "'settings.exclusive' of its header must be true or false, got 3"),
        ("exclusive", None, "'settings.exclusive' of its header must be true or false, got None"),
        ("shrinkage", float("nan"), "'settings.shrinkage' of its header must be a number from 1e-06 to 1e"),
        ("shrinkage", -1.0, "'settings.shrinkage' of its header must be a number from 1e-06 to 1e"),
        ("shrinkage", 0, "'settings.shrinkage' of its header must be a number from 1e-06 to 1e"),
        ("shrinkage", "2", "'settings.shrinkage' of its header must be a number from 1e-06 to 1e"),
        ("attribute_shrinkage", float("inf"), "'settings.attribute_shrinkage' of its header must be a number"),
        ("attribute_shrinkage", 2.0, "'settings.attribute_shrinkage' and none for the other factors"),
    ],
)
def test_wrong_settings_of_them_are_refused(path: Path, tmp_path: Path, name: str, value: Any, says: str) -> None:
    header, tensors, _ = read_tensors(path)
    assert header is not None
    header["settings"][name] = value
    save_tensors(tmp_path / "b.model", header, tensors)
    with pytest.raises(InputError, match=says) as refusal:
        load_model(tmp_path / "b.model")
    assert "\n" not in str(refusal.value)


def test_the_same_model_is_the_same_bytes(model: TrainedModel, path: Path, tmp_path: Path) -> None:
    save_model(load_model(path), tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("keep", [0, 4, 100, -1, -1000])
def test_a_file_cut_short_is_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"a\.model.*cut short"):
        load_model(path)


def test_an_altered_number_is_noticed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged or was altered"):
        load_model(path)


def test_the_network_is_the_one_the_model_was_trained_with() -> None:
    """The toy model is of vectors of 8 numbers, which no network gives: the length is left out."""
    extractor_config = ExtractorConfig("deep-small", None, DEEP_SMALL, None)
    assert open_extractor(extractor_config).fingerprint == DEEP_SMALL
    with pytest.raises(InputError, match="is not the network that the model was trained with"):
        open_extractor(extractor_config._replace(features="deep"))


def test_a_network_of_the_user_keeps_its_path(path: Path) -> None:
    header, tensors, _ = read_tensors(path)
    assert header is not None
    save_tensors(path, {**header, "features": "/networks/deep"}, tensors)
    assert load_model(path).extractor_config.features == "/networks/deep"


def test_a_schema_that_is_no_longer_read_says_so(path: Path) -> None:
    rewrite_header(path, schema=10)
    with pytest.raises(InputError, match=r"older tagsight \(schema 10, this one reads 11\); train again"):
        load_model(path)


def rewrite_header(path: Path, **changes: object) -> None:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        metadata = file.metadata()
    header = {**json.loads(metadata["tagsight"]), **changes}
    save_file(load_file(path), path, {**metadata, "tagsight": json.dumps(header)})


def test_an_altered_header_is_noticed(path: Path) -> None:
    rewrite_header(path, objects=["cat", "dog"])
    with pytest.raises(InputError, match="damaged or was altered"):
        load_model(path)


def test_a_newer_schema_says_to_upgrade(path: Path) -> None:
    rewrite_header(path, schema=99)
    with pytest.raises(InputError, match=r"newer tagsight.*schema 99.*upgrade"):
        load_model(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "x.safetensors"
    save_file({"a": np.zeros(3)}, foreign)
    with pytest.raises(InputError, match="not a tagsight model"):
        load_model(foreign)
    foreign.write_bytes(b"PK\x03\x04 a zip")
    with pytest.raises(InputError, match="no model file"):
        load_model(foreign)
    with pytest.raises(InputError, match="there is no model file"):
        load_model(tmp_path / "absent")
    with pytest.raises(InputError, match="no model file"):
        load_model(tmp_path)
