"""What the files of shipped models hold: weights and sums over the training photos, and nothing of a photo."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagsight.classifiers.regions import BANDS
from tagsight.predict.model_file import FORMAT, encode_model, load_model
from tagsight.predict.shipped import SHIPPED, STARTER, Figures, is_shipped, locate_model, read_figures
from tagsight.predict.trained_model import TrainedModel
from tagsight.storage.records import encode_record
from tagsight.storage.tensor_file import TensorFile, read_tensors

MAX_BYTES = 5_000_000
FEWEST_REGIONS = 20  # that a row of sums is over, so that it tells nothing of a single photo
CONTENT = re.compile(r"\.jpe?g|\.png|\d{4}_\d{6}|\\|VOC\d|VOCdev", re.IGNORECASE)  # names of photos and folders

EXPECTED = {  # every array of the file, and its shape; sizes as in `predict.model_checks`
    "predictor.embedding.projection.basis": "FD",
    "predictor.embedding.projection.offset": "D",
    "predictor.embedding.views.directions": "B",
    "predictor.embedding.views.ends": "B",
    "predictor.embedding.views.strengths": "B",
    "predictor.parts.classifiers.attributes.observed_log_odds": "Ca",
    "predictor.parts.classifiers.attributes.prior_log_odds": "Ca",
    "predictor.parts.classifiers.attributes.regions.offset": "a",
    "predictor.parts.classifiers.attributes.regions.weights": "Da",
    "predictor.parts.classifiers.height_prior": "CH",
    "predictor.parts.classifiers.objects.offset": "C",
    "predictor.parts.classifiers.objects.weights": "DC",
    "predictor.parts.classifiers.photo_classifier.offset": "o",
    "predictor.parts.classifiers.photo_classifier.weights": "Fo",
    "predictor.parts.learned.state.affinity": "KK",
    "predictor.parts.learned.state.appearance.mean": "KD",
    "predictor.parts.learned.state.appearance.var": "K",
    "predictor.parts.learned.state.inverse_shape": "00",
    "predictor.parts.learned.state.sparsity.log_mean": "S",
    "predictor.parts.learned.state.sparsity.mean": "S",
    "predictor.parts.learned.summary.count": "K",
    "predictor.parts.learned.summary.cross": "KD",
    "predictor.parts.learned.summary.log_sticks": "S",
    "predictor.parts.learned.summary.n_sticks": "S",
    "predictor.parts.learned.summary.pair": "KK",
    "predictor.parts.learned.summary.photo_pair": "KK",
}


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return load_model(locate_model(None))


@pytest.fixture(scope="module")
def content() -> TensorFile:
    return read_tensors(SHIPPED[STARTER].path)


def list_strings(value: Any) -> Iterator[str]:
    """All strings of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (key, *list_strings(one))
    elif isinstance(value, list):
        for one in value:
            yield from list_strings(one)


def test_every_array_is_known_and_none_has_a_row_per_photo(model: TrainedModel, content: TensorFile) -> None:
    factors = model.predictor.parts.learned.settings.factors
    basis = model.predictor.embedding.projection.basis
    sizes = {
        "K": factors.total,
        "o": factors.objects,
        "a": factors.attributes,
        "C": factors.objects + 1,
        "F": basis.shape[0],
        "D": basis.shape[1],
        "B": len(model.predictor.embedding.views.ends),
        "S": len(model.predictor.parts.learned.state.sparsity.mean),
        "H": BANDS,
        "0": 0,
    }
    assert set(content.tensors) == set(EXPECTED)
    for name, letters in EXPECTED.items():
        assert content.tensors[name].shape == tuple(sizes[letter] for letter in letters), name
        assert content.tensors[name].dtype.kind in "fi", f"{name} could hold bytes of a photo"
    assert basis.shape == (model.extractor_config.length, 256)
    assert model.training.n_photos not in sizes.values()
    assert max(sizes.values()) < 5_000


def test_every_sum_is_over_many_regions(model: TrainedModel) -> None:
    summary = model.predictor.parts.learned.summary
    used = summary.count > 0
    assert summary.count[used].min() >= FEWEST_REGIONS
    assert not np.any(summary.cross[~used])


def test_there_are_no_example_crops(model: TrainedModel) -> None:
    assert model.example_crops == ((),) * len(model.factor_names)


def test_the_header_names_no_photo_and_no_folder(model: TrainedModel, content: TensorFile) -> None:
    assert content.header is not None
    words = set(model.vocabulary.objects + model.vocabulary.attributes)
    others = [text for text in list_strings(content.header) if text not in words]
    assert len(others) > 10
    assert [text for text in others if CONTENT.search(text) or "/" in text] == []
    assert not any(CONTENT.search(word) for word in words)
    assert (model.extractor_config.features, model.extractor_config.codebook) == ("deep", None)


def test_the_file_has_nothing_besides_the_record(model: TrainedModel, content: TensorFile) -> None:
    assert SHIPPED[STARTER].path.read_bytes() == encode_model(model)
    header, tensors = encode_record(model)
    assert content.header == {"format": FORMAT.name, "schema": FORMAT.schema, "record": header}
    assert tensors.keys() == content.tensors.keys()


def test_the_file_is_small_and_knows_the_words_of_apascal(model: TrainedModel) -> None:
    assert SHIPPED[STARTER].path.stat().st_size <= MAX_BYTES
    assert (len(model.vocabulary.objects), len(model.vocabulary.attributes)) == (20, 64)
    assert {"cat", "person", "aeroplane"} <= set(model.vocabulary.objects)
    assert model.training.seed == 0


def test_the_figures_are_those_of_the_file() -> None:
    figures = read_figures(SHIPPED[STARTER])
    assert figures.sha256 == sha256(SHIPPED[STARTER].path.read_bytes()).hexdigest(), "run benchmarks/starter_model.py"
    shares = {name: value for name, value in figures._asdict().items() if isinstance(value, float)}
    assert {*Figures._fields} - set(shares) == {"sha256", "n_photos", "n_masks"}
    assert all(0 < share < 1 for share in shares.values())


def test_the_figures_are_those_of_the_results(repository: Path) -> None:
    result = json.loads((repository / "benchmarks/results/starter_model.json").read_text())
    figures = read_figures(SHIPPED[STARTER])._asdict()
    assert {name: result[name] for name in figures} == figures
    assert "/" not in result["command"].removeprefix("python benchmarks/starter_model.py")


def test_a_file_has_precedence_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = Path(STARTER)
    assert is_shipped(name)
    assert locate_model(name) == locate_model(None) == SHIPPED[STARTER].path
    name.write_text("mine")
    assert not is_shipped(name)
    assert locate_model(name) == name
    assert locate_model(None) == SHIPPED[STARTER].path
    assert locate_model(Path("my.model")) == Path("my.model")
