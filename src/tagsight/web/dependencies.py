"""What the routes of the API and of the pages share: the services of the application and the query parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query, Request

from tagsight.index import Index
from tagsight.index.query import LONGEST_QUERY
from tagsight.web.images import ImageCache
from tagsight.web.uploads import UploadAnnotator

T = TypeVar("T")
PHOTOS_PER_PAGE = 24
DEFAULT_THRESHOLD = 0.2  # of a search
MAX_NUMBER = 2**32 - 1  # of a photo, a region or a factor

PhotoNumber = Annotated[int, Path(ge=0, le=MAX_NUMBER, description="Number of the photo in the index.")]
FactorName = Annotated[str, Path(description="Name of a discovered factor in the model, such as `free-1`.")]
QueryText = Annotated[
    str,
    Query(
        max_length=LONGEST_QUERY,
        description="Words of the index, such as `furry brown horse`. A comma separates things that may be in "
        "different regions; a minus excludes a word: `car, -person`.",
    ),
]
Threshold = Annotated[float, Query(ge=0, le=1, description="Leave out whatever scores less than this.")]
Start = Annotated[int, Query(ge=0, le=MAX_NUMBER, description="How many results to skip.")]
Count = Annotated[int, Query(ge=1, le=200, description="The largest number of results to return.")]
ObjectCount = Annotated[int, Query(ge=1, le=1000, description="The largest number of objects to list.")]


@dataclass(frozen=True)
class Services:
    """The index that is served, and what reads and annotates photos for it."""

    index: Index
    images: ImageCache
    annotator: UploadAnnotator


async def get_services(request: Request) -> Services:
    """The services of the application. The function is asynchronous so that it takes no worker thread."""
    return request.app.state.services


async def get_index(request: Request) -> Index:
    """The index that is served."""
    return request.app.state.services.index


CurrentServices = Annotated[Services, Depends(get_services)]
CurrentIndex = Annotated[Index, Depends(get_index)]


def split_page(results: Sequence[T], start: int, count: int) -> tuple[Sequence[T], int | None]:
    """The first `count` results, and the start of the next page, or None if there are no more results.

    `results` are those from `start` on, one more than `count` if there are that many.
    """
    return results[:count], start + count if len(results) > count else None
