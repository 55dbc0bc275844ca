"""The application: routes behind the guard, errors as one sentence."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tagsight.errors import InputError, WriteError
from tagsight.index import Index, UnknownWordError
from tagsight.index.errors import BusyError, LostIndexError, UnknownPhotoError
from tagsight.web.api import make_api
from tagsight.web.guard import LOOPBACK_NAMES, Guard, Rules
from tagsight.web.pages import Templates, make_pages
from tagsight.web.photofiles import NotServedError, Pictures
from tagsight.web.site import Site
from tagsight.web.uploads import LARGEST, Annotator

STATIC = Path(__file__).parent / "static"
UPLOADS = ("/annotate", "/api/annotate", "/api/annotate/mask.png")
LOST = "the index cannot be read; whoever runs this server finds the reason in its log"
FAILED = "the server failed on this request; whoever runs it finds the reason in its log"
RETRY_AFTER = {"Retry-After": "5"}  # seconds
log = logging.getLogger("uvicorn.error")


def make_app(index: Index, *, token: str | None = None, names: frozenset[str] = LOOPBACK_NAMES) -> Guard:
    """The pages and the API of an index; without a token, for those who call the server by one of `names`."""
    site = Site(index, Pictures(), Annotator(index))

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.annotator.close()

    app = FastAPI(
        title="tagsight",
        version=metadata.version("tagsight"),
        description="Photos found, described and outlined by words learned from tags alone.",
        docs_url=None,  # its page would fetch script from elsewhere
        redoc_url=None,
        lifespan=live,
    )
    templates = Templates()
    app.include_router(make_api(site))
    app.include_router(make_pages(site, templates))
    app.mount("/static", StaticFiles(directory=STATIC))
    explain_errors(app, templates)
    return Guard(app, Rules(token, None if token else names, dict.fromkeys(UPLOADS, LARGEST)))


def explain_errors(app: FastAPI, templates: Templates) -> None:
    """Every refusal is one sentence: on a page for people, as JSON for programs."""

    def tell(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"detail": detail}, status, headers)
        page = templates.show("problem.html", status, code=status, problem=detail)
        page.headers.update(headers or {})
        return page

    @app.exception_handler(HTTPException)
    def refuse(request: Request, error: HTTPException) -> Response:
        return tell(request, error.status_code, error.detail, dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    def refuse_values(request: Request, error: RequestValidationError) -> Response:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in one['loc'][1:]) or 'the body'}: {one['msg']}" for one in error.errors()
        )
        return tell(request, 422, problems)

    @app.exception_handler(BusyError)
    def postpone(request: Request, error: BusyError) -> Response:
        return tell(request, 503, str(error), RETRY_AFTER)

    @app.exception_handler(LostIndexError)
    def report_lost_index(request: Request, error: LostIndexError) -> Response:
        log.error("%s", error)  # it names folders of this machine, which clients are not told
        return tell(request, 503, LOST, RETRY_AFTER)

    @app.exception_handler(WriteError)
    def report_unwritable(request: Request, error: WriteError) -> Response:
        log.error("%s", error)  # it names folders of this machine, too
        return tell(request, 503, "the index cannot be written to now; try again later", RETRY_AFTER)

    @app.exception_handler(Exception)
    def report_failure(request: Request, _: Exception) -> Response:
        return tell(request, 500, FAILED)

    @app.exception_handler(InputError)
    def refuse_input(request: Request, error: InputError) -> Response:
        if isinstance(error, UnknownWordError) and request.url.path.startswith("/api/"):
            return JSONResponse({"detail": str(error), "word": error.word, "nearest": error.nearest}, 422)
        return tell(request, 404 if isinstance(error, UnknownPhotoError | NotServedError) else 422, str(error))
