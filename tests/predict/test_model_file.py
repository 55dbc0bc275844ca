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
from tagsight.features.extractor import ExtractorConfig, open_extractor
from tagsight.features.transforms import Projection, Views
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.model.planted import draw_appearance, draw_planted
from tagsight.predict.model_checks import CHOICES, NUMBERS, TENSORS, flatten
from tagsight.predict.model_file import encode_model, load_model, save_model
from tagsight.predict.predictor import Calibrations, Embedding, FittedParts, Predictor
from tagsight.predict.trained_model import ExampleCrop, TrainedModel, Training
from tagsight.storage.records import encode_record
from tagsight.storage.tensor_file import read_tensors, save_tensors

# The fingerprint of features by EfficientNet-Lite0.
DEEP_SMALL = "4176f539b088e91cf0998cd7f1f291322d68f370edfdc372ced3069be547c2db"


def _make_linear(length: int, classes: int, seed: int) -> Linear:
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
                0.0,
                RegionClassifiers(
                    _make_linear(8, 2, 0),
                    _make_linear(6, 3, 1),
                    AttributeClassifier(
                        _make_linear(6, 1, 2), *np.array([[[0.5], [1.0], [-1.0]], [[0.2], [0.4], [0.6]]], np.float32)
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


def test_a_loaded_model_is_the_one_that_was_saved(model: TrainedModel, path: Path) -> None:
    again = load_model(path)
    assert_same(again, model)
    assert again.factor_names == ("dog", "кот", "furry", "free-1", "free-2")


def change(path: Path, place: str, value: Any) -> None:
    """Rewrite a field of the header or a tensor, by its path, with a valid checksum."""
    header, tensors, _ = read_tensors(path)
    assert header is not None
    if place in tensors:
        tensors[place] = value
    else:
        *parents, name = place.split(".")
        record = header["record"]
        for parent in parents:
            record = record[parent]
        record[name] = value
    save_tensors(path, header, tensors)


def assert_refused(model: TrainedModel, path: Path, place: str, value: Any, message: str) -> None:
    save_model(model, path)
    change(path, place, value)
    with pytest.raises(InputError, match=message) as refusal:
        load_model(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


STATE, SUMMARY = "predictor.parts.learned.state", "predictor.parts.learned.summary"
SETTINGS = "predictor.parts.learned.settings"


def test_a_full_noise_covariance_is_loaded(tmp_path: Path) -> None:
    model, path = make_model("full"), tmp_path / "a.model"
    save_model(model, path)
    again = load_model(path)
    assert again.predictor.parts.learned.settings.noise == "full"
    assert_same(again, model)
    for name in (f"{STATE}.inverse_shape", f"{SUMMARY}.square"):
        assert_refused(model, path, name, np.zeros((2, 2)), rf"'{name}' must have shape \(6, 6\)")
    for name, wrong in (
        (f"{STATE}.inverse_shape", -np.eye(6)),
        (f"{STATE}.inverse_shape", np.zeros((6, 6))),
        (f"{SUMMARY}.square", -np.eye(6)),
    ):
        assert_refused(model, path, name, wrong, rf"'{name}' must be symmetric")


def test_exclusive_factors_and_shrinkage_are_loaded(tmp_path: Path) -> None:
    model = make_model(exclusive=True, shrinkage=2.5, attribute_shrinkage=20.0)
    save_model(model, tmp_path / "a.model")
    settings = load_model(tmp_path / "a.model").predictor.parts.learned.settings
    assert settings == model.predictor.parts.learned.settings
    assert (settings.exclusive, settings.shrinkage, settings.attribute_shrinkage) == (True, 2.5, 20.0)


def replace_parts(model: TrainedModel, **parts: Any) -> TrainedModel:
    predictor = model.predictor
    return model._replace(predictor=predictor._replace(parts=predictor.parts._replace(**parts)))


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("probability", np.full((2, 1), 1.5), "must lie between 0.001 and 0.995"),
        ("probability", np.zeros((3, 1)) + 0.5, r"must have shape \(2, 1\)"),
        ("effect", np.full((1, 6), np.nan), "has NaN or infinity"),
        ("weights", np.zeros((1, 5)), r"must have shape \(1, 6\)"),
    ],
)
def test_attributes_of_objects_are_loaded(tmp_path: Path, name: str, wrong: np.ndarray, message: str) -> None:
    rng = np.random.default_rng(0)
    attributes = ObjectAttributes(rng.uniform(0.1, 0.9, (2, 1)), rng.normal(size=(1, 6)), rng.normal(size=(1, 6)))
    model, path = replace_parts(make_model(), classifiers=None, object_attributes=attributes), tmp_path / "a.model"
    save_model(model, path)
    again = load_model(path)
    assert_same(again.predictor.parts.object_attributes, attributes)
    assert encode_model(again) == path.read_bytes()
    place = f"predictor.parts.object_attributes.{name}"
    assert_refused(model, path, place, wrong, f"'{place}' {message}")


def make_photo_prior() -> PhotoPrior:
    return PhotoPrior(*_make_linear(8, 2, 0), np.array([0.5, 2.0**-20], np.float32), 30.0)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("strength", -1.0, "'{}' of its header must lie between 0 and"),
        ("strength", "30", "'{}' of its header must be a number, got '30'"),
        ("strength", float("nan"), "'{}' of its header must be a number, got nan"),
        ("weights", np.zeros((8, 3), np.float32), r"'{}' must have shape \(8, 2\)"),
        ("size", np.array([0.5, 0.0], np.float32), r"'{}' must lie between 9\.53"),
        ("size", np.array([0.5, 1.5], np.float32), r"'{}' must lie between 9\.53"),
    ],
)
def test_a_photo_prior_is_loaded(tmp_path: Path, name: str, wrong: Any, message: str) -> None:
    prior = make_photo_prior()
    model, path = replace_parts(make_model(), classifiers=None, photo_prior=prior), tmp_path / "a.model"
    save_model(model, path)
    assert_same(load_model(path).predictor.parts.photo_prior, prior)
    place = f"predictor.parts.photo_prior.{name}"
    assert_refused(model, path, place, wrong, message.format(place))


def test_a_record_without_its_tensors_is_refused(model: TrainedModel, path: Path) -> None:
    assert_refused(model, path, "predictor.parts.classifiers", None, "unknown tensor 'predictor.parts.classifiers")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("predictor.embedding.views.photo_effect", -0.1, "must lie between 0 and 1, got -0.1"),
        ("predictor.embedding.views.photo_effect", 1.5, "must lie between 0 and 1, got 1.5"),
        ("predictor.embedding.views.photo_effect", float("nan"), "must be a number, got nan"),
        ("predictor.embedding.views.photo_effect", "0.5", "must be a number, got '0.5'"),
        ("predictor.embedding.views.photo_effect", None, "must be a number, got None"),
        (f"{SETTINGS}.exclusive", 3, "must be true or false, got 3"),
        (f"{SETTINGS}.exclusive", None, "must be true or false, got None"),
        (f"{SETTINGS}.shrinkage", float("nan"), "must be a number or null, got nan"),
        (f"{SETTINGS}.shrinkage", -1.0, "must lie between 1e-06 and 1e"),
        (f"{SETTINGS}.shrinkage", 0, "must lie between 1e-06 and 1e"),
        (f"{SETTINGS}.shrinkage", "2", "must be a number or null, got '2'"),
        (f"{SETTINGS}.attribute_shrinkage", float("inf"), "must lie between 1e-06 and 1e"),
        (f"{SETTINGS}.attribute_shrinkage", 2.0, "and none for the other factors"),
        (f"{SETTINGS}.noise", "loud", "must be one of isotropic, full, got 'loud'"),
        ("vocabulary.objects", ["dog", "x\n"], "must be distinct words"),
        ("vocabulary.objects", ["dog"], "of its header must be|has 1 objects and settings for 2"),
        ("extractor_config.length", 9, "must be 8"),
        ("extractor_config.features", "classic", "must be there for classic features, and only then"),
        ("example_crops", [[], []], "example_crops|unknown tensor"),
        ("n_regions", 0, "must lie between 1 and 2000, got 0"),
    ],
)
def test_wrong_values_are_refused_by_name(
    model: TrainedModel, path: Path, place: str, value: Any, message: str
) -> None:
    assert_refused(model, path, place, value, message)


@pytest.mark.parametrize("noise", ["isotropic", "full"])
def test_every_array_of_a_model_has_a_required_shape(noise: str) -> None:
    _, tensors = encode_record(make_model(noise))
    crops = {name for name in tensors if name.startswith("example_crops.")}
    assert set(tensors) - crops <= set(TENSORS)


def test_the_names_of_all_checks_exist() -> None:
    """A check of a field that no model has would check nothing."""
    rng = np.random.default_rng(0)
    attributes = ObjectAttributes(rng.uniform(0.1, 0.9, (2, 1)), rng.normal(size=(1, 6)), rng.normal(size=(1, 6)))
    full = make_model("full", exclusive=True, shrinkage=2.5, attribute_shrinkage=20.0, sparsity=1.0)
    models = [
        replace_parts(
            full,
            object_attributes=attributes,
            photo_prior=PhotoPrior(*_make_linear(8, 2, 0), np.array([0.5, 2.0**-20], np.float32), 30.0),
        ),
        make_model(),
    ]
    tensors, numbers = set[str](), set[str]()
    for header, arrays in map(encode_record, models):
        tensors |= set(arrays)
        numbers |= {name for name, _ in flatten(header)}
    assert {name for name in TENSORS if not name.startswith("extractor_config.codebook")} <= tensors
    assert set(NUMBERS) | set(CHOICES) <= numbers


def test_the_same_model_is_the_same_bytes(model: TrainedModel, path: Path) -> None:
    assert encode_model(load_model(path)) == path.read_bytes()


@pytest.mark.parametrize("keep", [0, 4, 100, -1, -1000])
def test_a_truncated_file_is_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"a\.model.*cut short"):
        load_model(path)


def test_an_altered_number_is_detected(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="is damaged: its checksum does not match; train again"):
        load_model(path)


def test_the_network_is_the_one_the_model_was_trained_with() -> None:
    """The model is for vectors of 8 numbers, which no network gives, so the length is not checked."""
    extractor_config = ExtractorConfig("deep-small", None, DEEP_SMALL, None)
    assert open_extractor(extractor_config).fingerprint == DEEP_SMALL
    with pytest.raises(InputError, match="is not the network that the model was trained with"):
        open_extractor(extractor_config._replace(features="deep"))


def test_a_network_of_the_user_keeps_its_path(path: Path) -> None:
    change(path, "extractor_config.features", "/networks/deep")
    assert load_model(path).extractor_config.features == "/networks/deep"


def test_an_older_schema_is_refused_with_the_remedy(path: Path) -> None:
    rewrite_header(path, schema=11)
    with pytest.raises(InputError, match=r"that is older \(schema 11, this one reads 13\); train again"):
        load_model(path)


def rewrite_header(path: Path, **changes: object) -> None:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        metadata = file.metadata() or {}
    header = {**json.loads(metadata["tagsight"]), **changes}
    save_file(load_file(path), path, {**metadata, "tagsight": json.dumps(header)})


def test_an_altered_header_is_detected(path: Path) -> None:
    rewrite_header(path, record={})
    with pytest.raises(InputError, match="is damaged: its checksum does not match; train again"):
        load_model(path)


def test_a_newer_schema_is_refused_with_the_advice_to_upgrade(path: Path) -> None:
    rewrite_header(path, schema=99)
    with pytest.raises(InputError, match=r"that is newer \(schema 99, .*upgrade tagsight"):
        load_model(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "x.safetensors"
    save_file({"a": np.zeros(3)}, foreign)
    with pytest.raises(InputError, match="is not a model file"):
        load_model(foreign)
    foreign.write_bytes(b"PK\x03\x04 a zip")
    with pytest.raises(InputError, match="is not a model file"):
        load_model(foreign)
    with pytest.raises(InputError, match="there is no model file"):
        load_model(tmp_path / "absent")
    with pytest.raises(InputError, match="is not a model file"):
        load_model(tmp_path)
