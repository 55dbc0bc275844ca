"""The model file: numbers and JSON only (see `tensor_file`), so that opening it can run nothing.

The header holds schema, vocabulary, settings, the feature extractor's fingerprint, and the training record with the
version of tagsight that wrote it. A file that is cut short, foreign, altered or from a newer tagsight is refused with
a sentence that says so; so is one whose content does not fit together (`model_checks`), whoever signed it.

The promise: a tagsight reads the files of its own SCHEMA and of every schema in MIGRATIONS. A change that older files
cannot be migrated over raises SCHEMA and drops them from MIGRATIONS, and the refusal says to train again.

    schema 10: `attributes_of` and, where it is "objects", the tensors of `model.object_attributes`;
              `photo_prior` and its tensors
    schema 9: the features `deep` are those of EfficientNet-Lite2; `photo_effect`, `settings.exclusive`,
              `settings.shrinkage` and `settings.attribute_shrinkage`
    schema 8: the features `deep` are those of EfficientNet-Lite0, which are called `deep-small` since; `fingerprint`,
              `training.version`, `settings.noise` and, of a full noise covariance, `inverse_shape`
    schema 7: as schema 8, without its fields: the network is not compared with the one of the training, and the noise
              is isotropic
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from tagsight.calibration import Calibration
from tagsight.data.vocabulary import Vocabulary
from tagsight.engine.inference import Learned
from tagsight.errors import InputError
from tagsight.features.classic import ClassicCodebook
from tagsight.features.codebook import Projection
from tagsight.features.describer import Recipe
from tagsight.features.views import Views
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.model.settings import Factors, Settings
from tagsight.model.state import ISOTROPIC, Appearance, Globals, Scales, Sparsity, Summary
from tagsight.photo_prior import PhotoPrior
from tagsight.readout.attributes import AttributeReader
from tagsight.readout.learn import Readout
from tagsight.readout.regression import Linear
from tagsight.readout.weights import Weights
from tagsight.storage.model_checks import find_fault
from tagsight.storage.tensor_file import TensorFile, read_tensors, save_tensors
from tagsight.trained import Exemplar, TrainedModel, Training
from tagsight.types import Array

SCHEMA = 10
CODEBOOK, OBJECT_ATTRIBUTES = "codebook.", "object_attributes."
VIEW_TENSORS = ("ends", "directions", "strengths")
REMEDY = "train again or take a backup"


def save_model(model: TrainedModel, path: Path) -> None:
    """Write the model; `path` holds the old file or the new one at any time."""
    header, tensors = _header(model), _tensors(model)
    save_tensors(path, header, tensors)


def load_model(path: Path) -> TrainedModel:
    """Read a model that `save_model` wrote."""
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
    if schema != SCHEMA and schema not in MIGRATIONS:
        raise InputError(
            f"{str(path)!r} was made by an older tagsight (schema {schema}, this one reads {SCHEMA}); train again"
        )
    if not intact:
        raise InputError(f"{str(path)!r} is damaged or was altered after training; {REMEDY}")
    for older in range(schema, SCHEMA):
        header = MIGRATIONS[older](header)
    if fault := find_fault(header, tensors):
        raise InputError(f"{str(path)!r} is not a valid model file: {fault}; {REMEDY}")
    return _model(header, tensors)


def _read(path: Path) -> TensorFile:
    try:
        return read_tensors(path)
    except FileNotFoundError as problem:
        raise InputError(f"there is no model file {str(path)!r}; make one with 'tagsight train'") from problem
    except (SafetensorError, OSError) as problem:
        raise InputError(f"{str(path)!r} is no model file, or is cut short: {problem}") from problem


def _migrate_7(header: dict[str, Any]) -> dict[str, Any]:
    """Schema 7 recorded neither the fingerprint nor the version, and knew isotropic noise alone."""
    records = {"training": {"version": None}, "settings": {"noise": "isotropic"}}
    complete = {name: {**header[name], **more} for name, more in records.items() if isinstance(header.get(name), dict)}
    return {**header, **complete, "schema": 8, "fingerprint": None}


def _migrate_8(header: dict[str, Any]) -> dict[str, Any]:
    """Schema 8 called the features of EfficientNet-Lite0 `deep`, and knew none of the settings added since."""
    changed: dict[str, Any] = {"features": "deep-small"} if header.get("features") == "deep" else {}
    if isinstance(settings := header.get("settings"), dict):
        names = ("exclusive", "shrinkage", "attribute_shrinkage")
        changed["settings"] = {**settings, **{name: Settings._field_defaults[name] for name in names}}
    return {**header, **changed, "photo_effect": 0.0, "schema": 9}


def _migrate_9(header: dict[str, Any]) -> dict[str, Any]:
    """Schema 9 knew attributes of regions alone, and asked no photo as a whole."""
    return {**header, "attributes_of": "regions", "photo_prior": None, "schema": 10}


# Each raises the schema by one.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {7: _migrate_7, 8: _migrate_8, 9: _migrate_9}


def _header(model: TrainedModel) -> dict[str, Any]:
    settings = model.learned.settings
    return {
        "schema": SCHEMA,
        "objects": model.vocabulary.objects,
        "attributes": model.vocabulary.attributes,
        "features": model.recipe.features,
        "fingerprint": model.recipe.fingerprint,
        "n_regions": model.n_regions,
        "photo_effect": model.views.photo_effect,
        "attributes_of": "objects" if model.object_attributes else "regions",
        "photo_prior": model.photo_prior and model.photo_prior.strength,
        "settings": {**settings._asdict(), "factors": settings.factors._asdict()},
        "calibration": {"objects": model.objects._asdict(), "attributes": model.attributes._asdict()},
        "readout": model.readout and _readout_numbers(model.readout),
        "exemplars": [[exemplar.score for exemplar in row] for row in model.exemplars],
        "training": model.training._asdict(),
    }


def _tensors(model: TrainedModel) -> dict[str, Array]:
    state, summary, _ = model.learned
    jpegs = [exemplar.jpeg for row in model.exemplars for exemplar in row]
    codebook = model.recipe.codebook
    return {
        **{f"views.{name}": getattr(model.views, name) for name in VIEW_TENSORS},
        **{f"projection.{name}": array for name, array in model.projection._asdict().items()},
        **{OBJECT_ATTRIBUTES + name: array for name, array in _list_object_attributes(model).items()},
        **_list_photo_prior(model),
        **(_readout_tensors(model.readout) if model.readout else {}),
        "appearance.mean": state.appearance.mean,
        "appearance.var": state.appearance.var,
        "scales": np.array(state.scales),
        "sparsity": np.stack([state.sparsity.mean, state.sparsity.log_mean]),
        "affinity": state.affinity,
        **({"inverse_shape": state.inverse_shape} if state.inverse_shape.size else {}),
        **{f"summary.{name}": np.asarray(value) for name, value in summary._asdict().items()},
        "exemplars.bytes": np.frombuffer(b"".join(jpegs), np.uint8),
        "exemplars.sizes": np.array([len(jpeg) for jpeg in jpegs], np.int64),
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
        recipe=Recipe(
            header["features"],
            ClassicCodebook.from_arrays(codebook) if codebook else None,
            header["fingerprint"],
            len(tensors["projection.basis"]),
        ),
        n_regions=header["n_regions"],
        views=Views(**{name: tensors[f"views.{name}"] for name in VIEW_TENSORS}, photo_effect=header["photo_effect"]),
        projection=Projection(*(tensors[f"projection.{name}"] for name in Projection._fields)),
        learned=Learned(
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
        object_attributes=ObjectAttributes(*(tensors[OBJECT_ATTRIBUTES + name] for name in ObjectAttributes._fields))
        if header["attributes_of"] == "objects"
        else None,
        photo_prior=None
        if header["photo_prior"] is None
        else PhotoPrior(tensors["photo_prior.weights"], tensors["photo_prior.offset"], header["photo_prior"]),
        readout=_readout(header["readout"], tensors) if header["readout"] else None,
        objects=Calibration(**header["calibration"]["objects"]),
        attributes=Calibration(**header["calibration"]["attributes"]),
        exemplars=_exemplars(header["exemplars"], tensors),
        training=Training(**{**training, "bound": tuple(training["bound"])}),
    )


def _list_object_attributes(model: TrainedModel) -> dict[str, Array]:
    return model.object_attributes._asdict() if model.object_attributes else {}


def _list_photo_prior(model: TrainedModel) -> dict[str, Array]:
    prior = model.photo_prior
    return {"photo_prior.weights": prior.weights, "photo_prior.offset": prior.offset} if prior else {}


def _readout_numbers(readout: Readout) -> dict[str, Any]:
    return {"weights": readout.weights._asdict(), "background": readout.background, "bias": readout.bias}


def _readout_tensors(readout: Readout) -> dict[str, Array]:
    linears = {"cue": readout.cue, "objects": readout.objects, "attributes": readout.attributes.regions}
    tensors = {
        f"readout.{part}.{name}": array for part, one in linears.items() for name, array in one._asdict().items()
    }
    _, seen, usual = readout.attributes
    return {**tensors, "readout.seen": seen, "readout.usual": usual, "readout.heights": readout.heights}


def _readout(header: dict[str, Any], tensors: dict[str, Array]) -> Readout:
    cue, objects, attributes = (
        Linear(*(tensors[f"readout.{part}.{name}"] for name in Linear._fields))
        for part in ("cue", "objects", "attributes")
    )
    reader = AttributeReader(attributes, tensors["readout.seen"], tensors["readout.usual"])
    return Readout(
        cue,
        objects,
        reader,
        tensors["readout.heights"],
        Weights(**header["weights"]),
        header["background"],
        header["bias"],
    )


def _exemplars(scores: list[list[float]], tensors: dict[str, Array]) -> tuple[tuple[Exemplar, ...], ...]:
    content = tensors["exemplars.bytes"].tobytes()
    ends = np.cumsum(tensors["exemplars.sizes"])
    starts = ends - tensors["exemplars.sizes"]
    pieces = iter([content[a:b] for a, b in zip(starts, ends, strict=True)])
    return tuple(tuple(Exemplar(score, next(pieces)) for score in row) for row in scores)
