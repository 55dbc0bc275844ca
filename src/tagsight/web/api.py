"""The JSON API, and the pictures."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Header, Path, Query, Request, Response

from tagsight.errors import InputError
from tagsight.index.query import LONGEST_QUERY
from tagsight.pictures.drawing import draw_photo
from tagsight.pictures.outlines import draw_svg, outline_mask
from tagsight.pictures.palette import LARGEST, encode_palette
from tagsight.predict.annotate import N_OBJECTS
from tagsight.predict.regions import PhotoRegions, paint_objects
from tagsight.web import answers
from tagsight.web.photofiles import NotServedError, locate_photo
from tagsight.web.site import COUNT, MOST_PHOTOS, THRESHOLD, Site, list_shown

T = TypeVar("T")
PhotoNumber = Annotated[int, Path(ge=0, le=MOST_PHOTOS)]
Threshold = Annotated[float, Query(ge=0, le=1)]
Start = Annotated[int, Query(ge=0, le=MOST_PHOTOS)]
Count = Annotated[int, Query(ge=1, le=200)]
ObjectCount = Annotated[int, Query(ge=1, le=1000, description="objects of the photo, at most")]
IfNoneMatch = Annotated[str | None, Header()]

SENTENCE: dict[str, Any] = {  # FastAPI would give a model the media type of the route, which is a picture's for some
    "description": "One sentence that says what is wrong.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
REFUSED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 421), SENTENCE)  # by the guard, on every route
BAD: dict[int | str, dict[str, Any]] = {422: SENTENCE, 503: SENTENCE}
UNKNOWN_WORD = {**SENTENCE, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/UnknownWord"}}}}
NO_PHOTO = {404: SENTENCE, **BAD}
BODY_ERRORS = dict.fromkeys((408, 411, 413), SENTENCE) | BAD
UPLOAD = {429: SENTENCE, **BODY_ERRORS}
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "description": "The photo's file: JPEG, PNG, WEBP, AVIF, BMP, TIFF or GIF.",
    }
}


class Jpeg(Response):
    """A picture."""

    media_type = "image/jpeg"


class Png(Response):
    """A mask."""

    media_type = "image/png"


class Svg(Response):
    """An outline."""

    media_type = "image/svg+xml"


def make_api(site: Site) -> APIRouter:
    """Everything under /api."""
    router = APIRouter(prefix="/api", responses=REFUSED)
    index = site.index

    @router.get("/words", responses={503: {"model": answers.Problem}})
    def list_words() -> answers.Words:
        """Every word that can be searched for."""
        manifest, names = index.manifest, index.names
        free = manifest.factor_names[len(manifest.objects) + len(manifest.attributes) :]
        return answers.Words(
            objects=list(manifest.objects),
            attributes=list(manifest.attributes),
            discovered=[answers.Discovered(factor=factor, name=names.get(factor)) for factor in free],
        )

    @router.get("/search", responses={**BAD, 422: {"model": answers.UnknownWord}})
    def search(
        q: Annotated[str, Query(max_length=LONGEST_QUERY, description='such as "furry brown horse, car -person"')],
        threshold: Threshold = THRESHOLD,
        start: Start = 0,
        count: Count = COUNT,
    ) -> answers.SearchResponse:
        """Photos that fit a query and score at least the threshold, best first."""
        hits, following = take_page(index.find(q, top=count + 1, threshold=threshold, start=start), start, count)
        told = [answers.to_hit(hit) for hit in hits]
        total = index.count(q, threshold=threshold)
        return answers.SearchResponse(query=q, threshold=threshold, total=total, hits=told, next=following)

    @router.get("/photos", responses=BAD)
    def list_photos(start: Start = 0, count: Count = COUNT) -> answers.PhotosResponse:
        """The photos of the index."""
        photos, following = take_page(index.list_photos(start=start, n=count + 1), start, count)
        return answers.PhotosResponse(photos=[answers.to_listed_photo(photo) for photo in photos], next=following)

    @router.get("/photos/{photo}", responses=NO_PHOTO)
    def extract_photo(photo: PhotoNumber, objects: ObjectCount = N_OBJECTS) -> answers.PhotoResponse:
        """The objects of a photo as `tagsight annotate` lists them, and what is in each region."""
        return answers.to_photo(index.look_up(photo), objects)

    @router.get("/photos/{photo}/like", responses=NO_PHOTO)
    def find_like(
        photo: PhotoNumber, region: Annotated[int | None, Query(ge=0, le=MOST_PHOTOS)] = None, count: Count = COUNT
    ) -> answers.SimilarResponse:
        """The photos most like a photo, or those with a region most like one of its regions."""
        hits = index.like(photo, region, top=count)
        return answers.SimilarResponse(hits=[answers.to_hit(hit) for hit in hits])

    @router.get("/photos/{photo}/picture.jpg", response_class=Jpeg, responses={304: {}, **NO_PHOTO})
    def show_photo(photo: PhotoNumber, side: Literal["480", "1600"] = "480", if_none_match: IfNoneMatch = None) -> Jpeg:
        """A photo upright, its longer side at most `side` pixels."""
        file = locate_photo(index, photo)
        headers = {"etag": file.tag(int(side))}
        if if_none_match == headers["etag"]:
            return Jpeg(status_code=304, headers=headers)
        return Jpeg(site.pictures.draw(file, int(side)), headers=headers)

    @router.get("/photos/{photo}/outline.svg", response_class=Svg, responses={**NO_PHOTO, 422: UNKNOWN_WORD})
    def outline(
        photo: PhotoNumber,
        q: Annotated[str, Query(max_length=LONGEST_QUERY)],
    ) -> Svg:
        """Outlines of what a query finds in a photo, to lie over it."""
        found = index.find_areas(photo, q)
        rings = [ring for area in found.areas for ring in outline_mask(area, found.size)]
        return Svg(draw_svg(rings, found.size))

    @router.get("/photos/{photo}/mask.png", response_class=Png, responses=NO_PHOTO)
    def mask(photo: PhotoNumber, threshold: Threshold = 0.0) -> Png:
        """A palette PNG of the photo's size: 0 background, 1.. objects in the order of /api/words."""
        return Png(draw_mask(index.look_up(photo).regions, threshold), headers=attach(f"photo-{photo}.png"))

    @router.get("/factors", responses=BAD)
    def list_factors() -> list[answers.FactorResponse]:
        """Every learned and discovered factor."""
        return [
            answers.to_factor(shown.column, shown.factor, shown.name, len(shown.example_crops))
            for shown in list_shown(site)
        ]

    @router.get("/factors/{column}/example_crops/{number}.jpg", response_class=Jpeg, responses=NO_PHOTO)
    def show_exemplar(
        column: Annotated[int, Path(ge=0, le=MOST_PHOTOS)], number: Annotated[int, Path(ge=0, le=MOST_PHOTOS)]
    ) -> Jpeg:
        """A training region in which a factor is strongly on."""
        example_crops = index.model.example_crops
        if column >= len(example_crops) or number >= len(example_crops[column]):
            raise NotServedError(f"factor {column} has no exemplar {number}")
        return Jpeg(example_crops[column][number].jpeg)

    @router.put("/factors/{factor}/name", responses=BODY_ERRORS)
    def name_factor(factor: str, wanted: answers.NameRequest) -> answers.Discovered:
        """Name a discovered factor, which can be searched for by that name from now on."""
        return answers.Discovered(factor=factor, name=index.name_factor(factor, wanted.name))

    @router.delete("/factors/{factor}/name", responses=BODY_ERRORS)
    def remove_name(factor: str) -> answers.Discovered:
        """Remove the name of a discovered factor."""
        index.remove_name(factor)
        return answers.Discovered(factor=factor, name=None)

    @router.post("/annotate", responses=UPLOAD, openapi_extra=BODY)
    async def annotate(request: Request, objects: ObjectCount = N_OBJECTS) -> answers.PredictionResponse:
        """What is in a photo that is sent, as for a photo of the index; it is not kept."""
        return await site.annotator.take(request, lambda regions: answers.to_prediction(draw_photo(regions, objects)))

    @router.post("/annotate/mask.png", response_class=Png, responses=UPLOAD, openapi_extra=BODY)
    async def annotate_mask(request: Request) -> Png:
        """The objects of a photo that is sent, as a palette PNG."""
        content = await site.annotator.take(request, lambda regions: draw_mask(regions, 0.0))
        return Png(content, headers=attach("mask.png"))

    return router


def take_page(found: Sequence[T], start: int, count: int) -> tuple[Sequence[T], int | None]:
    """What fits on the page, and where the next starts if one more was found."""
    return found[:count], start + count if len(found) > count else None


def draw_mask(photo: PhotoRegions, threshold: float) -> bytes:
    """A palette PNG."""
    if len(photo.names.objects) > LARGEST:
        raise InputError(f"a palette PNG holds {LARGEST} objects and the model has {len(photo.names.objects)}")
    return encode_palette(paint_objects(photo, threshold=threshold))


def attach(name: str) -> dict[str, str]:
    """Headers of a file to be saved."""
    return {"content-disposition": f'attachment; filename="{name}"'}
