"""The routes of the JSON API, and of the images that the pages display."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response

from tagsight.errors import InputError
from tagsight.pictures.drawing import draw_photo
from tagsight.pictures.outlines import draw_svg, outline_mask
from tagsight.pictures.palette import LARGEST, encode_palette
from tagsight.predict.annotate import N_OBJECTS
from tagsight.predict.regions import PhotoRegions, paint_objects
from tagsight.web import schemas
from tagsight.web.dependencies import (
    DEFAULT_THRESHOLD,
    MAX_NUMBER,
    PHOTOS_PER_PAGE,
    Count,
    CurrentIndex,
    CurrentServices,
    FactorName,
    ObjectCount,
    PhotoNumber,
    QueryText,
    Start,
    Threshold,
    split_page,
)
from tagsight.web.images import PhotoUnavailableError, locate_photo

# Every error is described with its media type, because FastAPI would give it that of the route: an image for some.
ERROR: dict[str, Any] = {
    "description": "One sentence that states what is wrong.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}},
}
UNKNOWN_WORD = {
    **ERROR,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/UnknownWordResponse"}}},
}
MIDDLEWARE_ERRORS: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 421), ERROR)
INDEX_ERRORS: dict[int | str, dict[str, Any]] = {422: ERROR, 503: ERROR}
PHOTO_ERRORS = {404: ERROR, **INDEX_ERRORS}
BODY_ERRORS = dict.fromkeys((408, 411, 413), ERROR) | INDEX_ERRORS
UPLOAD_ERRORS = {429: ERROR, **BODY_ERRORS}
UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "description": "The content of an image file: JPEG, PNG, WebP, AVIF, BMP, TIFF or GIF.",
    }
}

router = APIRouter(prefix="/api", responses=MIDDLEWARE_ERRORS)


class JpegResponse(Response):
    """A JPEG image."""

    media_type = "image/jpeg"


class PngResponse(Response):
    """A PNG image."""

    media_type = "image/png"


class SvgResponse(Response):
    """An SVG image."""

    media_type = "image/svg+xml"


@router.get("/words", responses={503: {"model": schemas.ErrorResponse}})
def list_words(index: CurrentIndex) -> schemas.WordsResponse:
    """List every word that a search can use."""
    manifest, names = index.manifest, index.names
    free = manifest.factor_names[len(manifest.objects) + len(manifest.attributes) :]
    return schemas.WordsResponse(
        objects=list(manifest.objects),
        attributes=list(manifest.attributes),
        discovered=[schemas.DiscoveredFactor(factor=factor, name=names.get(factor)) for factor in free],
    )


@router.get("/search", responses={**INDEX_ERRORS, 422: {"model": schemas.UnknownWordResponse}})
def search_photos(
    index: CurrentIndex,
    q: QueryText,
    threshold: Threshold = DEFAULT_THRESHOLD,
    start: Start = 0,
    count: Count = PHOTOS_PER_PAGE,
) -> schemas.SearchResponse:
    """Find the photos that fit a query and score at least the threshold, best first."""
    hits, next_start = split_page(index.find(q, top=count + 1, threshold=threshold, start=start), start, count)
    return schemas.SearchResponse(
        query=q,
        threshold=threshold,
        total=index.count(q, threshold=threshold),
        hits=[schemas.to_hit(hit) for hit in hits],
        next=next_start,
    )


@router.get("/photos", responses=INDEX_ERRORS)
def list_photos(index: CurrentIndex, start: Start = 0, count: Count = PHOTOS_PER_PAGE) -> schemas.PhotosResponse:
    """List the photos of the index."""
    photos, next_start = split_page(index.list_photos(start=start, n=count + 1), start, count)
    return schemas.PhotosResponse(photos=[schemas.to_summary(photo) for photo in photos], next=next_start)


@router.get("/photos/{photo}", responses=PHOTO_ERRORS)
def describe_photo(index: CurrentIndex, photo: PhotoNumber, objects: ObjectCount = N_OBJECTS) -> schemas.PhotoResponse:
    """Return the objects and the regions of a photo."""
    return schemas.to_photo(index.load_photo(photo), objects)


@router.get("/photos/{photo}/like", responses=PHOTO_ERRORS)
def find_similar_photos(
    index: CurrentIndex,
    photo: PhotoNumber,
    region: Annotated[
        int | None, Query(ge=0, le=MAX_NUMBER, description="Compare this region instead of the whole photo.")
    ] = None,
    count: Count = PHOTOS_PER_PAGE,
) -> schemas.SimilarResponse:
    """Find the photos that resemble a photo or one of its regions, most similar first."""
    hits = index.find_similar(photo, region, top=count)
    return schemas.SimilarResponse(hits=[schemas.to_hit(hit) for hit in hits])


@router.get("/photos/{photo}/picture.jpg", response_class=JpegResponse, responses={304: {}, **PHOTO_ERRORS})
def get_photo_image(
    services: CurrentServices,
    photo: PhotoNumber,
    side: Annotated[Literal["480", "1600"], Query(description="The longer side in pixels, at most.")] = "480",
    if_none_match: Annotated[str | None, Header(description="ETag of a cached image.")] = None,
) -> JpegResponse:
    """Return a photo as an upright JPEG without the metadata of the file."""
    file = locate_photo(services.index, photo)
    headers = {"etag": file.make_etag(int(side))}
    if if_none_match == headers["etag"]:
        return JpegResponse(status_code=304, headers=headers)
    return JpegResponse(services.images.load_jpeg(file, int(side)), headers=headers)


@router.get("/photos/{photo}/outline.svg", response_class=SvgResponse, responses={**PHOTO_ERRORS, 422: UNKNOWN_WORD})
def draw_outlines(index: CurrentIndex, photo: PhotoNumber, q: QueryText) -> SvgResponse:
    """Draw the outlines of the regions that fit a query, on a transparent ground of the photo's size."""
    found = index.find_areas(photo, q)
    rings = [ring for area in found.areas for ring in outline_mask(area, found.size)]
    return SvgResponse(draw_svg(rings, found.size))


@router.get("/photos/{photo}/mask.png", response_class=PngResponse, responses=PHOTO_ERRORS)
def draw_photo_mask(index: CurrentIndex, photo: PhotoNumber, threshold: Threshold = 0.0) -> PngResponse:
    """Draw the segmentation of a photo as a palette PNG: 0 is background, 1 the first object of /api/words."""
    content = encode_mask(index.load_photo(photo).regions, threshold)
    return PngResponse(content, headers=make_download_header(f"photo-{photo}.png"))


@router.get("/factors", responses=INDEX_ERRORS)
def list_factors(index: CurrentIndex) -> list[schemas.FactorResponse]:
    """List the factors of the model: tags first, then discovered factors."""
    return schemas.list_factor_responses(index)


@router.get("/factors/{column}/example_crops/{number}.jpg", response_class=JpegResponse, responses=PHOTO_ERRORS)
def get_example_crop(
    index: CurrentIndex,
    column: Annotated[int, Path(ge=0, le=MAX_NUMBER, description="Position of the factor in /api/factors, from 0.")],
    number: Annotated[int, Path(ge=0, le=MAX_NUMBER, description="Number of the crop, from 0.")],
) -> JpegResponse:
    """Return a crop of a training photo: a region that shows a factor clearly."""
    example_crops = index.model.example_crops
    if column >= len(example_crops) or number >= len(example_crops[column]):
        raise PhotoUnavailableError(f"factor {column} has no example crop {number}")
    return JpegResponse(example_crops[column][number].jpeg)


@router.put("/factors/{factor}/name", responses=BODY_ERRORS)
def name_factor(index: CurrentIndex, factor: FactorName, request: schemas.NameRequest) -> schemas.DiscoveredFactor:
    """Give a discovered factor a name; searches can use the name at once."""
    return schemas.DiscoveredFactor(factor=factor, name=index.name_factor(factor, request.name))


@router.delete("/factors/{factor}/name", responses=BODY_ERRORS)
def remove_name(index: CurrentIndex, factor: FactorName) -> schemas.DiscoveredFactor:
    """Remove the name of a discovered factor."""
    index.remove_name(factor)
    return schemas.DiscoveredFactor(factor=factor, name=None)


@router.post("/annotate", responses=UPLOAD_ERRORS, openapi_extra=UPLOAD_BODY)
async def annotate(
    services: CurrentServices, request: Request, objects: ObjectCount = N_OBJECTS
) -> schemas.PredictionResponse:
    """Return the objects and the regions of an uploaded photo. The photo is not stored."""
    return await services.annotator.annotate(
        request, lambda regions: schemas.to_prediction(draw_photo(regions, objects))
    )


@router.post("/annotate/mask.png", response_class=PngResponse, responses=UPLOAD_ERRORS, openapi_extra=UPLOAD_BODY)
async def annotate_mask(services: CurrentServices, request: Request) -> PngResponse:
    """Draw the segmentation of an uploaded photo as a palette PNG. The photo is not stored."""
    content = await services.annotator.annotate(request, lambda regions: encode_mask(regions, 0.0))
    return PngResponse(content, headers=make_download_header("mask.png"))


def encode_mask(photo: PhotoRegions, threshold: float) -> bytes:
    """The segmentation of a photo as a palette PNG."""
    n_objects = len(photo.names.objects)
    if n_objects > LARGEST:
        raise InputError(f"the model has {n_objects} objects and a palette PNG holds at most {LARGEST}; use the JSON")
    return encode_palette(paint_objects(photo, threshold=threshold))


def make_download_header(name: str) -> dict[str, str]:
    """The header that makes a browser save the response under this file name."""
    return {"content-disposition": f'attachment; filename="{name}"'}
