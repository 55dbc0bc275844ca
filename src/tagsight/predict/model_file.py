"""The model file: numbers and JSON only (see `tensor_file`), so that opening it can run nothing.

The header holds schema, vocabulary, settings, the feature extractor's fingerprint, and the training record with the
version of tagsight that wrote it. A file that is cut short, foreign, altered or from a newer tagsight is refused with
a sentence that says so; so is one whose content does not fit together (`model_checks`), whoever signed it.

A tagsight reads the files of its own SCHEMA; the refusal of an older one says to train again.
"""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from tagsight.classifiers.attributes import AttributeClassifier
from tagsight.classifiers.calibration import Calibration
from tagsight.classifiers.photo_prior import PhotoPrior
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.score import ClassifierWeights, RegionClassifiers
from tagsight.data.vocabulary import Vocabulary
from tagsight.engine.inference import FittedModel
from tagsight.errors import InputError
from tagsight.features.classic import ClassicCodebook
from tagsight.features.codebook import Projection
from tagsight.features.extractor import ExtractorConfig, relocate_network
from tagsight.features.views import Views
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.model.settings import Factors, Settings
from tagsight.model.state import ISOTROPIC, Appearance, Globals, Scales, Sparsity, Summary
from tagsight.predict.model_checks import find_fault
from tagsight.predict.predictor import Calibrations, Embedding, FittedParts, Predictor
from tagsight.predict.trained_model import ExampleCrop, TrainedModel, Training
from tagsight.storage.files import write_atomically
from tagsight.storage.tensor_file import TensorFile, encode_tensors, read_tensors
from tagsight.types import Array

SCHEMA = 11
CODEBOOK, OBJECT_ATTRIBUTES = "codebook.", "object_attributes."
VIEW_TENSORS = ("ends", "directions", "strengths")
REMEDY = "train again or take a backup"


def save_model(model: TrainedModel, path: Path) -> None:
    """Write the model; `path` holds the old file or the new one at any time."""
    write_atomically(path, encode_model(model))


def encode_model(model: TrainedModel) -> bytes:
    """The content of the model's file; equal models have equal content."""
    return encode_tensors(_header(model), _tensors(model))


def load_model(path: Path, *, backbone: Path | None = None) -> TrainedModel:
    """Read a model that `save_model` wrote.

    `backbone` is the present path of the ONNX network that the model was trained with, if the file was moved. Another
    network is refused.
    """
    header, tensors, intact = _read(path)
    if header is None:
        raise InputError(f"{str(path)!r} is a safetensors file, but not a tagsight model, or a damaged one; {REMEDY}")
    schema = header.get("schema")
    if type(schema) is not int:
        raise InputError(f"{str(path)!r} has a damaged header; {REMEDY}")
    if schema > SCHEMA:
        raise InputError(
            f"{str(path)!r} was made by a newer tagsight (schema {schema}, this one reads {SCHEMA}); upgrade tagsight"
        )
    if schema != SCHEMA:
        raise InputError(
            f"{str(path)!r} was made by an older tagsight (schema {schema}, this one reads {SCHEMA}); train again"
        )
    if not intact:
        raise InputError(f"{str(path)!r} is damaged or was altered after training; {REMEDY}")
    if fault := find_fault(header, tensors):
        raise InputError(f"{str(path)!r} is not a valid model file: {fault}; {REMEDY}")
    model = _model(header, tensors)
    if backbone is None:
        return model
    return model._replace(extractor_config=relocate_network(model.extractor_config, backbone))


def _read(path: Path) -> TensorFile:
    try:
        return read_tensors(path)
    except FileNotFoundError as problem:
        raise InputError(f"there is no model file {str(path)!r}; make one with 'tagsight train'") from problem
    except (SafetensorError, OSError) as problem:
        raise InputError(f"{str(path)!r} is no model file, or is cut short: {problem}") from problem


def _header(model: TrainedModel) -> dict[str, Any]:
    predictor = model.predictor
    settings = predictor.parts.learned.settings
    return {
        "schema": SCHEMA,
        "objects": model.vocabulary.objects,
        "attributes": model.vocabulary.attributes,
        "features": model.extractor_config.features,
        "fingerprint": model.extractor_config.fingerprint,
        "n_regions": model.n_regions,
        "photo_effect": predictor.embedding.views.photo_effect,
        "attributes_of": "objects" if predictor.parts.object_attributes else "regions",
        "photo_prior": predictor.parts.photo_prior and predictor.parts.photo_prior.strength,
        "settings": {**settings._asdict(), "factors": settings.factors._asdict()},
        "calibration": {
            "objects": predictor.calibration.objects._asdict(),
            "attributes": predictor.calibration.attributes._asdict(),
        },
        "classifiers": predictor.parts.classifiers and _classifier_numbers(predictor.parts.classifiers),
        "example_crops": [[example_crop.score for example_crop in row] for row in model.example_crops],
        "training": model.training._asdict(),
    }


def _tensors(model: TrainedModel) -> dict[str, Array]:
    predictor = model.predictor
    state, summary, _ = predictor.parts.learned
    jpegs = [example_crop.jpeg for row in model.example_crops for example_crop in row]
    codebook = model.extractor_config.codebook
    return {
        **{f"views.{name}": getattr(predictor.embedding.views, name) for name in VIEW_TENSORS},
        **{f"projection.{name}": array for name, array in predictor.embedding.projection._asdict().items()},
        **{OBJECT_ATTRIBUTES + name: array for name, array in _list_object_attributes(model).items()},
        **_list_photo_prior(model),
        **(_classifier_tensors(predictor.parts.classifiers) if predictor.parts.classifiers else {}),
        "appearance.mean": state.appearance.mean,
        "appearance.var": state.appearance.var,
        "scales": np.array(state.scales),
        "sparsity": np.stack([state.sparsity.mean, state.sparsity.log_mean]),
        "affinity": state.affinity,
        **({"inverse_shape": state.inverse_shape} if state.inverse_shape.size else {}),
        **{f"summary.{name}": np.asarray(value) for name, value in summary._asdict().items()},
        "example_crops.bytes": np.frombuffer(b"".join(jpegs), np.uint8),
        "example_crops.sizes": np.array([len(jpeg) for jpeg in jpegs], np.int64),
        **({CODEBOOK + name: array for name, array in codebook.arrays().items()} if codebook else {}),
    }


def _model(header: dict[str, Any], tensors: dict[str, Array]) -> TrainedModel:
    settings = dict(header["settings"])
    settings["factors"] = Factors(**settings["factors"])
    codebook = {name.removeprefix(CODEBOOK): a for name, a in tensors.items() if name.startswith(CODEBOOK)}
    summary = [tensors[f"summary.{name}"] for name in Summary._fields]
    training = header["training"]
    return TrainedModel(
        vocabulary=Vocabulary(tuple(header["objects"]), tuple(header["attributes"])),
        extractor_config=ExtractorConfig(
            header["features"],
            ClassicCodebook.from_arrays(codebook) if codebook else None,
            header["fingerprint"],
            len(tensors["projection.basis"]),
        ),
        n_regions=header["n_regions"],
        predictor=Predictor(
            Embedding(
                Views(**{name: tensors[f"views.{name}"] for name in VIEW_TENSORS}, photo_effect=header["photo_effect"]),
                Projection(*(tensors[f"projection.{name}"] for name in Projection._fields)),
            ),
            FittedParts(
                learned=FittedModel(
                    Globals(
                        Appearance(tensors["appearance.mean"], tensors["appearance.var"]),
                        Scales(*tensors["scales"].tolist()),
                        Sparsity(tensors["sparsity"][0], tensors["sparsity"][1], 0.0),
                        tensors["affinity"],
                        tensors.get("inverse_shape", ISOTROPIC),
                    ),
                    Summary._make(float(value) if value.ndim == 0 else value for value in summary),
                    Settings(**settings),
                ),
                object_attributes=ObjectAttributes(
                    *(tensors[OBJECT_ATTRIBUTES + name] for name in ObjectAttributes._fields)
                )
                if header["attributes_of"] == "objects"
                else None,
                photo_prior=None
                if header["photo_prior"] is None
                else PhotoPrior(tensors["photo_prior.weights"], tensors["photo_prior.offset"], header["photo_prior"]),
                classifiers=_classifiers(header["classifiers"], tensors) if header["classifiers"] else None,
            ),
            Calibrations(
                Calibration(**header["calibration"]["objects"]), Calibration(**header["calibration"]["attributes"])
            ),
        ),
        example_crops=_exemplars(header["example_crops"], tensors),
        training=Training(**{**training, "bound": tuple(training["bound"])}),
    )


def _list_object_attributes(model: TrainedModel) -> dict[str, Array]:
    return model.predictor.parts.object_attributes._asdict() if model.predictor.parts.object_attributes else {}


def _list_photo_prior(model: TrainedModel) -> dict[str, Array]:
    prior = model.predictor.parts.photo_prior
    return {"photo_prior.weights": prior.weights, "photo_prior.offset": prior.offset} if prior else {}


def _classifier_numbers(classifiers: RegionClassifiers) -> dict[str, Any]:
    return {"weights": classifiers.weights._asdict(), "background": classifiers.background, "bias": classifiers.bias}


def _classifier_tensors(classifiers: RegionClassifiers) -> dict[str, Array]:
    linears = {
        "photo_classifier": classifiers.photo_classifier,
        "objects": classifiers.objects,
        "attributes": classifiers.attributes.regions,
    }
    tensors = {
        f"classifiers.{part}.{name}": array for part, one in linears.items() for name, array in one._asdict().items()
    }
    _, seen, usual = classifiers.attributes
    return {
        **tensors,
        "classifiers.observed_log_odds": seen,
        "classifiers.prior_log_odds": usual,
        "classifiers.height_prior": classifiers.height_prior,
    }


def _classifiers(header: dict[str, Any], tensors: dict[str, Array]) -> RegionClassifiers:
    photo_classifier, objects, attributes = (
        Linear(*(tensors[f"classifiers.{part}.{name}"] for name in Linear._fields))
        for part in ("photo_classifier", "objects", "attributes")
    )
    reader = AttributeClassifier(
        attributes, tensors["classifiers.observed_log_odds"], tensors["classifiers.prior_log_odds"]
    )
    return RegionClassifiers(
        photo_classifier,
        objects,
        reader,
        tensors["classifiers.height_prior"],
        ClassifierWeights(**header["weights"]),
        header["background"],
        header["bias"],
    )


def _exemplars(scores: list[list[float]], tensors: dict[str, Array]) -> tuple[tuple[ExampleCrop, ...], ...]:
    content = tensors["example_crops.bytes"].tobytes()
    ends = np.cumsum(tensors["example_crops.sizes"])
    starts = ends - tensors["example_crops.sizes"]
    pieces = iter([content[a:b] for a, b in zip(starts, ends, strict=True)])
    return tuple(tuple(ExampleCrop(score, next(pieces)) for score in row) for row in scores)
