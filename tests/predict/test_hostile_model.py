"""Model files with a valid checksum and inconsistent content give one sentence, never a traceback."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.model_checks import CLASSIFIERS, STATE
from tagsight.predict.model_file import load_model, save_model
from tagsight.predict.predictor import predict_photos
from tagsight.predict.trained_model import TrainedModel
from tagsight.storage.tensor_file import Header, Tensors, digest_tensors, read_tensors, save_tensors

from .test_model_file import model  # noqa: F401

MISSING = object()
WRONG = (None, "x", "", -1, 0, 1, 2.5, -1e300, 1e300, 10**30, float("nan"), float("inf"), True, [], [[]], {}, ["x"],
         [1, 2], [None], {"a": 1}, MISSING)  # fmt: skip


def list_fields(value: Any, prefix: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        if isinstance(name, int) and name > 1:
            break  # the other items of a list have the same type
        yield (*prefix, name)
        yield from list_fields(item, (*prefix, name))


def change_field(header: Header, place: tuple[str | int, ...], value: Any) -> Header:
    changed = json.loads(json.dumps(header))
    record = changed
    for name in place[:-1]:
        record = record[name]
    if value is MISSING:
        del record[place[-1]]
    else:
        record[place[-1]] = value
    return changed


def change_tensor(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "transposed", np.ascontiguousarray(array.T)
    yield "one axis more", array[None]
    yield "flat", array.reshape(-1)
    yield "empty", array[:0] if array.ndim else np.zeros(0, array.dtype)
    yield "doubled", np.concatenate([array, array]) if array.ndim else np.stack([array, array])
    if array.ndim == 2:
        yield "narrower", np.ascontiguousarray(array[:, 1:])
    for dtype in ("float16", "float32", "float64", "int64", "uint8", "bool"):
        if array.dtype != dtype:
            yield dtype, array.astype(dtype)
    for value in (-1, 0, 1e300, 1e15, np.nan, np.inf, -np.inf):
        with np.errstate(all="ignore"):
            filled = np.full_like(array, np.clip(value, 0, 255) if array.dtype == np.uint8 else value, subok=False)
        yield f"filled with {value}", filled


def list_variants(header: Header, tensors: Tensors) -> Iterator[tuple[str, Header, Tensors]]:
    for place in list_fields(header):
        for value in WRONG:
            name = "dropped" if value is MISSING else repr(value)
            yield f"{'.'.join(map(str, place))} {name}", change_field(header, place, value), tensors
    for name, array in tensors.items():
        yield f"{name} dropped", header, {other: one for other, one in tensors.items() if other != name}
        with np.errstate(all="ignore"):
            for how, changed in change_tensor(array):
                yield f"{name} {how}", header, {**tensors, name: changed}
    yield "a tensor more", header, {**tensors, "extra": np.zeros(2)}
    yield "a field more", {**header, "extra": 1}, tensors
    for words in (["dog", "dog"], ["dog", "x" * 20_000], ["dog", "a\nb"], ["dog", 3], ["dog", ""]):
        yield f"objects {words!r:.30}", change_field(header, ("record", "vocabulary", "objects"), words), tensors
    ends = "predictor.embedding.views.ends"
    yield "ends that fall", header, {**tensors, ends: tensors[ends][::-1].copy()}


@pytest.fixture
def photo() -> PhotoFeatures:
    labels = np.repeat(np.arange(4, dtype=np.int32), 5)[None].repeat(6, axis=0)
    edges = np.array([[0, 1], [1, 2], [2, 3]], np.int32)
    features = np.random.default_rng(0).random((4, 8)).astype(np.float16)
    return PhotoFeatures(features, labels, edges, np.ones(3, np.float32), (20, 6))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are far out and still finite
def test_hostile_content_is_refused_or_annotates(
    model: TrainedModel,  # noqa: F811
    photo: PhotoFeatures,
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.model"
    save_model(model, path)
    header, tensors, _ = read_tensors(path)
    assert header is not None
    n_refused = 0
    for name, changed_header, changed_tensors in list_variants(header, tensors):
        save_tensors(path, changed_header, changed_tensors)
        loaded = load_or_refuse(path)
        if isinstance(loaded, str):
            n_refused += 1
            assert str(path) in loaded, name
            assert "\n" not in loaded, name
            assert len(loaded) < 500, name
            continue
        assert loaded.extractor_config.length == 8, name
        (posterior,) = predict_photos(loaded.predictor, [photo])
        for values in posterior[:4]:
            assert np.isfinite(values).all(), name
    assert n_refused > 1000


def load_or_refuse(path: Path) -> TrainedModel | str:
    try:
        return load_model(path)
    except InputError as problem:
        return str(problem)


def test_invalid_unicode_in_a_vocabulary_is_refused(model: TrainedModel, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "a.model"
    save_model(model, path)
    header, tensors, _ = read_tensors(path)
    assert header is not None
    header["record"]["vocabulary"]["objects"] = ["dog", "\ud800"]
    text = json.dumps({**header, "sha256": digest_tensors(header, tensors)})
    path.write_bytes(save(tensors, {"tagsight": text}))
    with pytest.raises(InputError, match=r"'vocabulary\.objects\.1' of its header must be valid text"):
        load_model(path)


@pytest.mark.parametrize("word", ["background", "free-1", "an attribute"])
def test_reserved_and_repeated_words_are_refused(model: TrainedModel, tmp_path: Path, word: str) -> None:  # noqa: F811
    path = tmp_path / "a.model"
    save_model(model, path)
    header, tensors, _ = read_tensors(path)
    assert header is not None
    words = header["record"]["vocabulary"]
    words["objects"][0] = words["attributes"][0] if word == "an attribute" else word
    save_tensors(path, header, tensors)
    with pytest.raises(InputError, match="which is reserved, or both an object and an attribute"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (f"{STATE}.appearance.mean", np.nan, "has NaN or infinity"),
        (f"{CLASSIFIERS}.photo_classifier.weights", np.inf, "has NaN or infinity"),
        (f"{STATE}.sparsity.mean", -1.0, "must lie between"),
    ],
)
def test_a_fault_names_the_tensor(model: TrainedModel, tmp_path: Path, name: str, value: float, message: str) -> None:  # noqa: F811
    path = tmp_path / "a.model"
    save_model(model, path)
    header, tensors, _ = read_tensors(path)
    assert header is not None
    save_tensors(path, header, {**tensors, name: np.full_like(tensors[name], value)})
    with pytest.raises(InputError, match=f"'{name}' {message}"):
        load_model(path)


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null", "{", "[" * 100_000, '{"schema": ' + "9" * 5000 + "}"])
def test_a_header_that_is_not_a_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(save({"a": np.zeros(2)}, {"tagsight": text}))
    with pytest.raises(InputError, match=r"a\.model"):
        load_model(path)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "I4", "X"])
def test_a_dtype_that_numpy_lacks_is_refused(tmp_path: Path, dtype: str) -> None:
    size = {"BF16": 2}.get(dtype, 1)
    metadata = {"a": {"dtype": dtype, "shape": [4], "data_offsets": [0, 4 * size]}, "__metadata__": {"tagsight": "{}"}}
    header = json.dumps(metadata).encode()
    path = tmp_path / "a.model"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4 * size))
    with pytest.raises(InputError, match=r"a\.model"):
        load_model(path)
