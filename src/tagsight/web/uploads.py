"""Photos sent to be annotated: kept in memory, one at a time, a few waiting."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import numpy as np
from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from tagsight.data.photo import decode_photo
from tagsight.index import Index
from tagsight.predict.annotate import scale_boxes
from tagsight.predict.regions import PhotoRegions

T = TypeVar("T")
LARGEST = 32 * 1024 * 1024  # bytes of a photo
MOST_PIXELS = 60_000_000
WAITING = 4
SLOWEST_LOOK = 60.0  # seconds


class Annotator:
    """Looks at photos with the model of an index; `take` bounds bytes, pixels, time and how many wait."""

    def __init__(self, index: Index):
        self._index = index
        self._worker = ThreadPoolExecutor(1, "annotate")
        self._inside = 0

    async def take(self, request: Request, answer: Callable[[PhotoRegions], T]) -> T:
        """What `answer` makes of the photo in the request's body."""
        with self._admit():
            content = await receive(request)
            work = asyncio.get_running_loop().run_in_executor(self._worker, lambda: answer(self.predict(content)))
            try:
                return await asyncio.wait_for(work, SLOWEST_LOOK)
            except TimeoutError as late:
                raise busy("the machine is too busy to look at the photo; try again later") from late

    def predict(self, content: bytes) -> PhotoRegions:
        """Cut, describe and look at a photo."""
        photo = decode_photo(content, "the photo sent", max_pixels=MOST_PIXELS)
        described, probabilities, named = self._index.predict_pixels(photo)
        boxes = np.array(scale_boxes(described))
        return PhotoRegions(described.size, described.labels, boxes, probabilities, named, self._index.factor_names)

    def close(self) -> None:
        """Let the photo being looked at be the last."""
        self._worker.shutdown(cancel_futures=True)

    @contextmanager
    def _admit(self) -> Iterator[None]:
        if self._inside > WAITING:
            raise busy("several photos are waiting already; try again in a few seconds")
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1


async def receive(request: Request) -> bytes:
    """The body; the guard has seen to its length and limits its time."""
    try:
        content = await request.body()
    except ClientDisconnect as gone:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the photo did not arrive") from gone
    if not content:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "send a photo as the body of the request")
    return content


def busy(detail: str) -> HTTPException:
    """Come back later."""
    return HTTPException(HTTPStatus.TOO_MANY_REQUESTS, detail, {"Retry-After": "5"})
