"""The web application of an index: routes, error responses and security."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tagsight.errors import InputError, WriteError
from tagsight.index import Index, UnknownWordError
from tagsight.index.errors import BusyError, LostIndexError, UnknownPhotoError
from tagsight.web import api, pages
from tagsight.web.dependencies import Services
from tagsight.web.images import ImageCache, PhotoUnavailableError
from tagsight.web.security import LOOPBACK_NAMES, SecurityMiddleware, SecurityOptions
from tagsight.web.uploads import MAX_BYTES, UploadAnnotator

STATIC = Path(__file__).parent / "static"
UPLOAD_PATHS = ("/annotate", "/api/annotate", "/api/annotate/mask.png")
UNREADABLE_INDEX = "the index cannot be read; the reason is in the log of the server"
UNWRITABLE_INDEX = "the index cannot be written to now; try again later"
SERVER_FAILURE = "the server failed on this request; the reason is in the log of the server"
RETRY_AFTER = {"Retry-After": "5"}  # seconds
log = logging.getLogger("uvicorn.error")


class ErrorAnswer(NamedTuple):
    """The HTTP response to an error."""

    status: int
    detail: str
    headers: dict[str, str]


def create_app(
    index: Index, *, token: str | None = None, host_names: frozenset[str] = LOOPBACK_NAMES
) -> SecurityMiddleware:
    """The ASGI application of an index. Without a token it accepts only requests to one of `host_names`."""
    services = Services(index, ImageCache(), UploadAnnotator(index))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        services.annotator.close()

    app = FastAPI(
        title="tagsight",
        version=metadata.version("tagsight"),
        description="Search, describe and segment photos with a model that was trained on photos and their tags.",
        docs_url=None,  # these pages would load JavaScript from another site
        redoc_url=None,
        lifespan=lifespan,
    )
    for kind in (HTTPException, RequestValidationError, BusyError, WriteError, InputError, Exception):
        app.add_exception_handler(kind, handle_error)
    app.state.services = services
    app.include_router(api.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=STATIC))
    options = SecurityOptions(token, None if token else host_names, dict.fromkeys(UPLOAD_PATHS, MAX_BYTES))
    return SecurityMiddleware(app, options)


def handle_error(request: Request, error: Exception) -> Response:
    """Answer with one sentence: as JSON for the API, as a page otherwise."""
    status, detail, headers = explain_error(error)
    if request.url.path.startswith("/api/"):
        content: dict[str, object] = {"detail": detail}
        if isinstance(error, UnknownWordError):
            content |= {"word": error.word, "nearest": error.nearest}
        return JSONResponse(content, status, headers)
    page = pages.render_page("problem.html", status, code=status, problem=detail)
    page.headers.update(headers)
    return page


def explain_error(error: Exception) -> ErrorAnswer:
    """The status and sentence for an error. Messages with paths of the server go to its log instead."""
    match error:
        case HTTPException():
            return ErrorAnswer(error.status_code, error.detail, dict(error.headers or {}))
        case RequestValidationError():
            problems = [describe_invalid_value(one["loc"], one["msg"]) for one in error.errors()]
            return ErrorAnswer(422, "; ".join(problems), {})
        case BusyError():
            return ErrorAnswer(503, str(error), RETRY_AFTER)
        case LostIndexError() | WriteError():
            log.error("%s", error)
            detail = UNREADABLE_INDEX if isinstance(error, LostIndexError) else UNWRITABLE_INDEX
            return ErrorAnswer(503, detail, RETRY_AFTER)
        case UnknownPhotoError() | PhotoUnavailableError():
            return ErrorAnswer(404, str(error), {})
        case InputError():
            return ErrorAnswer(422, str(error), {})
        case _:
            return ErrorAnswer(500, SERVER_FAILURE, {})


def describe_invalid_value(location: tuple[str | int, ...], message: str) -> str:
    """The name of an invalid parameter and what is wrong with it."""
    name = ".".join(str(part) for part in location[1:]) or "the body"
    return f"{name}: {message}"
