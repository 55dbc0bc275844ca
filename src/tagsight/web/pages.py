"""The routes of the HTML pages. They work without JavaScript."""

from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader

from tagsight.errors import InputError
from tagsight.index import Index, UnknownWordError
from tagsight.index.errors import LostIndexError
from tagsight.index.lookup import FoundAreas
from tagsight.index.names import LONGEST
from tagsight.pictures.drawing import DrawnPhoto, draw_photo
from tagsight.pictures.outlines import draw_path, outline_mask
from tagsight.predict.annotate import N_OBJECTS
from tagsight.web.dependencies import (
    DEFAULT_THRESHOLD,
    PHOTOS_PER_PAGE,
    CurrentIndex,
    CurrentServices,
    ObjectCount,
    PhotoNumber,
    QueryText,
    Start,
    Threshold,
    split_page,
)
from tagsight.web.schemas import list_factor_responses
from tagsight.web.uploads import MAX_BYTES, MAX_PIXELS

N_SIMILAR = 8  # photos shown below a photo
N_COLOURS = 10  # of objects, in the style sheet

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@cache
def open_templates() -> Environment:
    """The templates of this package; every value is escaped."""
    environment = Environment(
        loader=PackageLoader("tagsight.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    # Jinja declares no type for the values of `filters`.
    environment.filters["percent"] = _format_percent  # pyright: ignore[reportUnknownMemberType]
    return environment


def _format_percent(score: float) -> str:
    return f"{100 * score:.0f}%"


def render_page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made from a template."""
    return HTMLResponse(open_templates().get_template(template).render(values), status)


@router.get("/")
def show_search(
    index: CurrentIndex, q: QueryText = "", threshold: Threshold = DEFAULT_THRESHOLD, start: Start = 0
) -> Response:
    """The search page: the photos that fit a query, or all photos."""
    names = index.factor_names
    values: dict[str, Any] = {
        "q": q,
        "threshold": threshold,
        "start": start,
        "names": names,
        "given_names": index.names,
    }
    try:
        if q.strip():
            found = index.find(q, top=PHOTOS_PER_PAGE + 1, threshold=threshold, start=start)
            values["total"] = index.count(q, threshold=threshold)
        else:
            found = index.list_photos(start=start, n=PHOTOS_PER_PAGE + 1)
    except LostIndexError:
        raise
    except UnknownWordError as error:
        corrections = [(word, q.replace(error.word, word, 1)) for word in error.nearest]
        return render_page("search.html", 422, **values, unknown=error.word, corrections=corrections)
    except InputError as error:
        return render_page("search.html", 422, **values, problem=str(error))
    photos, next_start = split_page(found, start, PHOTOS_PER_PAGE)
    return render_page("search.html", **values, photos=photos, next_start=next_start, n_photos=index.manifest.n_photos)


@router.get("/photos/{photo}")
def show_photo(
    index: CurrentIndex,
    photo: PhotoNumber,
    q: QueryText = "",
    region: int | None = None,
    objects: ObjectCount = N_OBJECTS,
    threshold: Threshold = DEFAULT_THRESHOLD,
) -> Response:
    """The page of one photo with its regions, and the regions that fit a query."""
    stored = index.load_photo(photo)
    similar = index.find_similar(photo, top=N_SIMILAR)
    problem = found = None
    try:
        found = index.find_areas(photo, q) if q.strip() else None
    except LostIndexError:
        raise
    except InputError as error:
        problem = str(error)
    regions = prepare_regions(draw_photo(stored.regions, objects), region, found)
    return render_page(
        "photo.html", q=q, threshold=threshold, photo=stored, similar=similar, problem=problem, **regions
    )


@router.get("/factors")
def show_factors(index: CurrentIndex, named: str | None = None) -> Response:
    """The page of all factors. `named` is a factor that was named just now."""
    return render_page("factors.html", **prepare_factors(index), named=named)


@router.post("/factors/{factor}/name")
async def name_factor(index: CurrentIndex, factor: str, request: Request) -> Response:
    """Give a discovered factor the name of the submitted form."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8)
    return await run_in_threadpool(save_factor_name, index, factor, form.get("name", [""])[0])


def save_factor_name(index: Index, factor: str, name: str) -> Response:
    """Store the name of a factor; a redirect to the factor, or the factors page with an error."""
    try:
        index.name_factor(factor, name)
    except LostIndexError:
        raise
    except InputError as error:
        values = {"refused": factor, "refused_name": name, "problem": str(error)}
        return render_page("factors.html", 422, **prepare_factors(index), **values)
    anchor = quote(factor, safe="")
    return RedirectResponse(f"/factors?named={anchor}#{anchor}", HTTPStatus.SEE_OTHER)


@router.post("/factors/{factor}/name/remove")
def remove_name(index: CurrentIndex, factor: str) -> Response:
    """Remove the name of a discovered factor."""
    index.remove_name(factor)
    return RedirectResponse(f"/factors#{quote(factor, safe='')}", HTTPStatus.SEE_OTHER)


@router.get("/annotate")
def show_annotate() -> Response:
    """The page on which a visitor chooses a photo to annotate."""
    return render_page("annotate.html", max_bytes=MAX_BYTES, max_pixels=MAX_PIXELS)


@router.post("/annotate")
async def annotate(services: CurrentServices, request: Request) -> Response:
    """The regions of an uploaded photo, as a part of the annotate page."""
    return await services.annotator.annotate(
        request, lambda regions: render_page("regions.html", **prepare_regions(draw_photo(regions)))
    )


def prepare_factors(index: Index) -> dict[str, Any]:
    """The values that factors.html needs on every visit."""
    return {
        "factors": list_factor_responses(index),
        "n_photos": index.model.training.n_photos,
        "max_name": LONGEST,
    }


def prepare_regions(drawn: DrawnPhoto, region: int | None = None, found: FoundAreas | None = None) -> dict[str, Any]:
    """The values of regions.html: colours of objects, outlines of search results, and the selected region."""
    selected = region if region is not None and 0 <= region < len(drawn.regions) else None
    searched: list[dict[str, Any]] = []
    if found:
        searched = [
            {"match": match, "path": draw_path(outline_mask(area, found.size))}
            for match, area in zip(found.matches, found.areas, strict=True)
        ]
        selected = found.matches[0].region if selected is None else selected
    first = drawn.objects[0].region if drawn.objects else 0
    return {
        "drawn": drawn,
        "colours": {one.name: place % N_COLOURS for place, one in enumerate(drawn.objects)},
        "searched": searched,
        "score": found.score if found else None,
        "selected": selected,
        "focusable": first if selected is None else selected,
    }
