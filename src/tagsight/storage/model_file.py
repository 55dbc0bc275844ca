"""The model file: one safetensors file, numbers and JSON only, so that opening it can run nothing.

Its metadata holds one entry, `tagsight`: a JSON header with schema, vocabulary, settings and training record, and
with `sha256`, the hash of the rest of the header and of every tensor. (One entry, because safetensors writes several
in any order, and the same model should be the same bytes.) A file that is cut short, foreign, altered or from a newer
tagsight is refused with a sentence that says so.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagsight.calibration import Calibration
from tagsight.data.vocabulary import Vocabulary
from tagsight.engine.inference import Learned
from tagsight.errors import InputError
from tagsight.features.classic import ClassicCodebook
from tagsight.features.codebook import Projection
from tagsight.features.describer import Recipe
from tagsight.features.views import Views
from tagsight.files import write_atomically
from tagsight.model.settings import Factors, Settings
from tagsight.model.state import Appearance, Globals, Scales, Sparsity, Summary
from tagsight.readout.attributes import AttributeReader
from tagsight.readout.learn import Readout
from tagsight.readout.regression import Linear
from tagsight.readout.weights import Weights
from tagsight.trained import Exemplar, TrainedModel, Training
from tagsight.types import Array

SCHEMA = 7
CODEBOOK = "codebook."


def save_model(model: TrainedModel, path: Path) -> None:
    """Write the model; `path` holds the old file or the new one at any time."""
    tensors = {name: np.asarray(array, order="C") for name, array in _tensors(model).items()}
    header = _header(model)
    header["sha256"] = _digest(header, tensors)
    write_atomically(path, save(tensors, {"tagsight": _write_json(header)}))


def load_model(path: Path) -> TrainedModel:
    """Read a model that `save_model` wrote."""
    tensors, metadata = _read(path)
    if "tagsight" not in metadata:
        raise InputError(f"{str(path)!r} is a safetensors file, but not a tagsight model")
    header = _read_header(metadata["tagsight"], path)
    if header["schema"] > SCHEMA:
        raise InputError(
            f"{str(path)!r} was made by a newer tagsight (schema {header['schema']}, this one reads {SCHEMA}); "
            "upgrade tagsight"
        )
    if header["schema"] < SCHEMA:
        raise InputError(
            f"{str(path)!r} was made by an older tagsight (schema {header['schema']}, this one reads {SCHEMA}); "
            "train again"
        )
    if header.pop("sha256", None) != _digest(header, tensors):
        raise InputError(f"{str(path)!r} is damaged or was altered after training; train again or take a backup")
    return _model(header, tensors)


def _read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    try:
        with safe_open(path, framework="np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError as problem:
        raise InputError(f"there is no model file {str(path)!r}; make one with 'tagsight train'") from problem
    except (SafetensorError, OSError) as problem:
        raise InputError(f"{str(path)!r} is no model file, or is cut short: {problem}") from problem


def _read_header(text: str, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(text)
        return {**header, "schema": int(header["schema"])}
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{str(path)!r} has a damaged header; train again or take a backup") from problem


def _write_json(header: dict[str, Any]) -> str:
    return json.dumps(header, ensure_ascii=False, sort_keys=True)


def _digest(header: dict[str, Any], tensors: dict[str, Array]) -> str:
    total = sha256(_write_json(header).encode())
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _header(model: TrainedModel) -> dict[str, Any]:
    settings = model.learned.settings
    return {
        "schema": SCHEMA,
        "objects": model.vocabulary.objects,
        "attributes": model.vocabulary.attributes,
        "features": model.recipe.features,
        "n_regions": model.n_regions,
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
        **{f"views.{name}": array for name, array in model.views._asdict().items()},
        **{f"projection.{name}": array for name, array in model.projection._asdict().items()},
        **(_readout_tensors(model.readout) if model.readout else {}),
        "appearance.mean": state.appearance.mean,
        "appearance.var": state.appearance.var,
        "scales": np.array(state.scales),
        "sparsity": np.stack([state.sparsity.mean, state.sparsity.log_mean]),
        "affinity": state.affinity,
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
        recipe=Recipe(header["features"], ClassicCodebook.from_arrays(codebook) if codebook else None),
        n_regions=header["n_regions"],
        views=Views(*(tensors[f"views.{name}"] for name in Views._fields)),
        projection=Projection(*(tensors[f"projection.{name}"] for name in Projection._fields)),
        learned=Learned(
            Globals(
                Appearance(tensors["appearance.mean"], tensors["appearance.var"]),
                Scales(*tensors["scales"].tolist()),
                Sparsity(tensors["sparsity"][0], tensors["sparsity"][1], 0.0),
                tensors["affinity"],
            ),
            Summary._make(float(value) if value.ndim == 0 else value for value in summary),
            Settings(**settings),
        ),
        readout=_readout(header["readout"], tensors) if header["readout"] else None,
        objects=Calibration(**header["calibration"]["objects"]),
        attributes=Calibration(**header["calibration"]["attributes"]),
        exemplars=_exemplars(header["exemplars"], tensors),
        training=Training(**{**training, "bound": tuple(training["bound"])}),
    )


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
