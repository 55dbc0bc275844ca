"""The index from which a review takes its predictions: a given one, or one that is made from a model."""

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tagsight.data.collection import Collection
from tagsight.index import Index, build_index, open_index
from tagsight.index.sources import PhotoSource
from tagsight.predict.model_file import load_model
from tagsight.runtime.progress import Report
from tagsight.storage.files import locate_cache

if TYPE_CHECKING:
    from tagsight.index import BuildResult


def open_predictions(
    collection: Collection, source: Path, report: Report, *, backbone: Path | None = None
) -> tuple[Index, "BuildResult | None"]:
    """The index in the folder `source`, or the index of the collection by the model in the file `source`.

    The index of a model is in the cache, one per collection. It is updated if photos or the model changed; the second
    value says what the update did.
    """
    if source.is_dir():
        return open_index(source, backbone=backbone), None
    model = load_model(source, backbone=backbone)
    root = Path(os.path.abspath(collection.root))
    photos = tuple(root / photo.path.relative_to(collection.root) for photo in collection.photos)
    folder = locate_cache() / "review" / sha256(os.fsencode(root)).hexdigest()[:16]
    built = build_index(model, PhotoSource(root, photos, ()), folder, report=report)
    return open_index(folder), built
