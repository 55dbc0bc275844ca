"""The pages: plain HTML that also works without script."""

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader

from tagsight.errors import InputError
from tagsight.index import UnknownWordError
from tagsight.index.errors import LostIndexError
from tagsight.index.lookup import FoundAreas
from tagsight.index.names import LONGEST
from tagsight.index.query import LONGEST_QUERY
from tagsight.pictures.drawing import DrawnPhoto, draw_photo
from tagsight.pictures.outlines import draw_path, outline_mask
from tagsight.predict.annotate import N_OBJECTS
from tagsight.web.api import ObjectCount, PhotoNumber, Start, Threshold, take_page
from tagsight.web.site import COUNT, THRESHOLD, Site, list_shown
from tagsight.web.uploads import LARGEST, MOST_PIXELS

ALIKE = 8  # photos like the one shown
COLOURS = 10  # of objects, in the style sheet


class Templates:
    """The package's templates; whatever is put into them is escaped."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("tagsight.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        self._environment.filters["percent"] = lambda score: f"{100 * score:.0f}%"
        self._environment.globals |= {"n_colours": COLOURS, "longest_name": LONGEST}

    def show(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page."""
        return HTMLResponse(self._environment.get_template(name).render(values), status)


def make_pages(site: Site, templates: Templates) -> APIRouter:
    """Everything for people."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    index = site.index

    @router.get("/")
    def search(
        q: Annotated[str, Query(max_length=LONGEST_QUERY)] = "", threshold: Threshold = THRESHOLD, start: Start = 0
    ) -> Response:
        names = index.factor_names
        values = {"q": q, "threshold": threshold, "start": start, "names": names, "named": index.names}
        try:
            if q.strip():
                found = index.find(q, top=COUNT + 1, threshold=threshold, start=start)
                values["total"] = index.count(q, threshold=threshold)
            else:
                found = index.list_photos(start=start, n=COUNT + 1)
        except LostIndexError:
            raise
        except UnknownWordError as error:
            fixed = [(word, q.replace(error.word, word, 1)) for word in error.nearest]
            return templates.show("search.html", 422, **values, unknown=error.word, fixed=fixed)
        except InputError as error:
            return templates.show("search.html", 422, **values, problem=str(error))
        cards, following = take_page(found, start, COUNT)
        return templates.show(
            "search.html", **values, cards=cards, following=following, n_photos=index.manifest.n_photos
        )

    @router.get("/photos/{photo}")
    def show_photo(
        photo: PhotoNumber,
        q: Annotated[str, Query(max_length=LONGEST_QUERY)] = "",
        region: int | None = None,
        objects: ObjectCount = N_OBJECTS,
        threshold: Threshold = THRESHOLD,
    ) -> Response:
        stored = index.look_up(photo)
        values: dict[str, Any] = {
            "q": q,
            "threshold": threshold,
            "photo": stored,
            "alike": index.like(photo, top=ALIKE),
        }
        found = None
        try:
            found = index.find_areas(photo, q) if q.strip() else None
        except LostIndexError:
            raise
        except InputError as error:
            values["problem"] = str(error)
        return templates.show("photo.html", **values, **arrange(draw_photo(stored.regions, objects), region, found))

    @router.get("/factors")
    def show_factors(named: str | None = None) -> Response:
        return templates.show(
            "factors.html", factors=list_shown(site), named=named, n_photos=index.model.training.n_photos
        )

    @router.post("/factors/{factor}/name")
    async def name_factor(factor: str, request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8)
        return await run_in_threadpool(give_name, factor, form.get("name", [""])[0])

    def give_name(factor: str, name: str) -> Response:
        try:
            index.name_factor(factor, name)
        except LostIndexError:
            raise
        except InputError as error:
            model = index.model
            values = {"factors": list_shown(site), "n_photos": model.training.n_photos}
            return templates.show("factors.html", 422, **values, refused=factor, given=name, problem=str(error))
        place = quote(factor, safe="")
        return RedirectResponse(f"/factors?named={place}#{place}", HTTPStatus.SEE_OTHER)

    @router.post("/factors/{factor}/name/remove")
    def remove_name(factor: str) -> Response:
        index.remove_name(factor)
        return RedirectResponse(f"/factors#{quote(factor, safe='')}", HTTPStatus.SEE_OTHER)

    @router.get("/annotate")
    def show_annotate() -> Response:
        return templates.show("annotate.html", largest=LARGEST, most_pixels=MOST_PIXELS)

    @router.post("/annotate")
    async def annotate(request: Request) -> Response:
        return await site.annotator.take(
            request, lambda regions: templates.show("looked.html", **arrange(draw_photo(regions)))
        )

    return router


def arrange(drawn: DrawnPhoto, region: int | None = None, found: FoundAreas | None = None) -> dict[str, Any]:
    """A drawn photo for the template: colours of objects, outlines of what was searched for, the chosen region."""
    chosen = region if region is not None and 0 <= region < len(drawn.regions) else None
    searched: list[dict[str, Any]] = []
    if found:
        searched = [
            {"match": match, "path": draw_path(outline_mask(area, found.size))}
            for match, area in zip(found.matches, found.areas, strict=True)
        ]
        chosen = found.matches[0].region if chosen is None else chosen
    first = drawn.objects[0].region if drawn.objects else 0
    return {
        "drawn": drawn,
        "colours": {one.name: place % COLOURS for place, one in enumerate(drawn.objects)},
        "searched": searched,
        "score": found.score if found else None,
        "chosen": chosen,
        "first": first if chosen is None else chosen,
    }
