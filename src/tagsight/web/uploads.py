"""Annotation of uploaded photos: in memory, one at a time, with limits on size, time and the number of requests."""

import asyncio
from collections.abc import Callable, Generator
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
MAX_BYTES = 32 * 1024 * 1024
MAX_PIXELS = 60_000_000
MAX_WAITING = 4  # requests, besides the one that is being processed
TIMEOUT = 60.0  # seconds


class UploadAnnotator:
    """Annotates uploaded photos with the model of an index."""

    def __init__(self, index: Index):
        self._index = index
        self._worker = ThreadPoolExecutor(1, "annotate")
        self._n_requests = 0

    async def annotate(self, request: Request, convert: Callable[[PhotoRegions], T]) -> T:
        """Annotate the photo in the body of a request, and return what `convert` makes of its regions."""
        with self._count_request():
            content = await read_body(request)
            work = asyncio.get_running_loop().run_in_executor(self._worker, lambda: convert(self.predict(content)))
            try:
                return await asyncio.wait_for(work, TIMEOUT)
            except TimeoutError as late:
                raise make_busy_error("the server is too busy to annotate the photo; try again later") from late

    def predict(self, content: bytes) -> PhotoRegions:
        """The regions of a photo, given the content of its file."""
        photo = decode_photo(content, "the uploaded photo", max_pixels=MAX_PIXELS)
        features, probabilities, labels = self._index.predict_pixels(photo)
        boxes = np.array(scale_boxes(features))
        return PhotoRegions(features.size, features.labels, boxes, probabilities, labels, self._index.factor_names)

    def close(self) -> None:
        """Cancel the waiting requests; the photo that is being annotated is finished."""
        self._worker.shutdown(cancel_futures=True)

    @contextmanager
    def _count_request(self) -> Generator[None]:
        if self._n_requests > MAX_WAITING:
            raise make_busy_error("too many photos are waiting to be annotated; try again in a few seconds")
        self._n_requests += 1
        try:
            yield
        finally:
            self._n_requests -= 1


async def read_body(request: Request) -> bytes:
    """The body of a request. `SecurityMiddleware` has limited its length and the time it may take."""
    try:
        content = await request.body()
    except ClientDisconnect as gone:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the connection closed before the whole photo arrived") from gone
    if not content:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "the body of the request is empty; send a photo in it")
    return content


def make_busy_error(detail: str) -> HTTPException:
    """An error of status 429 that names the number of seconds to wait."""
    return HTTPException(HTTPStatus.TOO_MANY_REQUESTS, detail, {"Retry-After": "5"})
