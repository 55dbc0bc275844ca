"""The model file: the record `TrainedModel`, stored by `storage.records`. Opening it executes nothing.

A file that is truncated, damaged, of another format or of another schema is refused with one sentence. So is a file
whose content is inconsistent (`model_checks`), even if its checksum is correct.
"""

from pathlib import Path

from tagsight.errors import InputError
from tagsight.features.extractor import relocate_network
from tagsight.predict.model_checks import find_fault
from tagsight.predict.trained_model import TrainedModel
from tagsight.storage.files import write_atomically
from tagsight.storage.records import RecordFormat, encode_file, load_record

FORMAT = RecordFormat("model file", 13, "train again")


def save_model(model: TrainedModel, path: Path) -> None:
    """Write the model; at any time, `path` holds the previous file or the new one."""
    write_atomically(path, encode_model(model))


def encode_model(model: TrainedModel) -> bytes:
    """The content of the model's file; equal models have equal content."""
    return encode_file(model, FORMAT)


def load_model(path: Path, *, backbone: Path | None = None) -> TrainedModel:
    """Read a model that `save_model` wrote.

    `backbone` is the present path of the ONNX network that the model was trained with, if the file was moved. Another
    network is refused.
    """
    if not path.exists():
        raise InputError(f"there is no model file {str(path)!r}; make one with 'tagsight train'")
    model = load_record(TrainedModel, path, FORMAT)
    if fault := find_fault(model):
        raise InputError(f"{str(path)!r} is not a valid {FORMAT.name}: {fault}; {FORMAT.remedy}")
    if backbone is None:
        return model
    return model._replace(extractor_config=relocate_network(model.extractor_config, backbone))
