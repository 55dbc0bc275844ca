"""Learn nouns and adjectives from photos that have only tags, and find them in other photos.

>>> import tagsight
>>> model = tagsight.train("photos/")
>>> for photo in model.annotate("new/"):
...     print(photo.path, [one.name for one in photo.objects])
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagsight.errors import InputError, LeftOutWarning, TagsightError, TagsightWarning, UnreadablePhotoError

if TYPE_CHECKING:
    from tagsight.api import (
        AnnotatedPhoto,
        ExportSummary,
        IndexOptions,
        Model,
        PredictedPhoto,
        Segmentation,
        load,
        train,
    )
    from tagsight.data.collection import Collection
    from tagsight.data.readers import open_collection
    from tagsight.estimator import StackedIBP
    from tagsight.index import BuildResult, Hit, Index, open_index
    from tagsight.predict.annotate import Attribute, FoundObject
    from tagsight.predict.factors import Factor
    from tagsight.training.options import TrainOptions

__all__ = [
    "AnnotatedPhoto",
    "Attribute",
    "BuildResult",
    "Collection",
    "ExportSummary",
    "Factor",
    "FoundObject",
    "Hit",
    "Index",
    "IndexOptions",
    "InputError",
    "LeftOutWarning",
    "Model",
    "PredictedPhoto",
    "Segmentation",
    "StackedIBP",
    "TagsightError",
    "TagsightWarning",
    "TrainOptions",
    "UnreadablePhotoError",
    "load",
    "open_collection",
    "open_index",
    "train",
]

# Nothing may be sent to another machine. onnxruntime sends telemetry unless this variable is set before its import; its
# function that switches telemetry off comes too late.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# Modules that take long to import: they are imported when one of their names is first used.
_MODULES = {
    "Attribute": "tagsight.predict.annotate",
    "BuildResult": "tagsight.index",
    "Collection": "tagsight.data.collection",
    "Factor": "tagsight.predict.factors",
    "FoundObject": "tagsight.predict.annotate",
    "Hit": "tagsight.index",
    "Index": "tagsight.index",
    "StackedIBP": "tagsight.estimator",
    "TrainOptions": "tagsight.training.options",
    "open_collection": "tagsight.data.readers",
    "open_index": "tagsight.index",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'tagsight' has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "tagsight.api")), name)


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*globals(), *__all__]
