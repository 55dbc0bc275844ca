"""Search: photos are annotated once, and queries take milliseconds.

    from tagsight.predict.model_file import load_model
    from tagsight.index import build_index, list_source, open_index
    build_index(load_model(Path("my.model")), list_source(Path("photos")), Path("my.index"))
    index = open_index("my.index")
    for hit in index.find("furry brown horse", top=20):
        print(hit.score, index.path(hit.photo), hit.matches[0].region, hit.matches[0].box)
    index.labels(hit.photo) == hit.matches[0].region      # the region's pixels, at the scale of analysis
    index.name_factor("free-7", "striped"); index.find("striped horse"); index.remove_name("free-7")

    index.find_similar(hit.photo, region=3)                # photos with a region similar to that one
    index.find_similar_to_file(Path("any.jpg"), at=(120, 80))   # the same for a file that is not in the index
    index.regions(hit.photo), index.region_at(hit.photo, 120, 80), index.words, index.names, index.manifest, index.model

`Index.find` raises `UnknownWordError` with `.word` and `.nearest`. Threads may share a handle; it follows updates.
Building needs the model and its features; opening and finding load neither.
"""

from typing import TYPE_CHECKING, Any

from tagsight.index.handle import Index, open_index
from tagsight.index.names import name_factor, remove_name
from tagsight.index.query import UnknownWordError
from tagsight.index.search import Hit, Match

if TYPE_CHECKING:
    from tagsight.index.build import BuildResult, build_index
    from tagsight.index.sources import PhotoSource, list_source

__all__ = [
    "BuildResult",
    "Hit",
    "Index",
    "Match",
    "PhotoSource",
    "UnknownWordError",
    "build_index",
    "list_source",
    "name_factor",
    "open_index",
    "remove_name",
]


def __getattr__(name: str) -> Any:
    """Import the functions that build an index when they are first used: the import takes seconds."""
    if name in ("BuildResult", "build_index"):
        from tagsight.index import build

        return getattr(build, name)
    if name in ("PhotoSource", "list_source"):
        from tagsight.index import sources

        return getattr(sources, name)
    raise AttributeError(f"module 'tagsight.index' has no attribute {name!r}")
