"""The JSON records of the API, as /openapi.json describes them."""

from typing import Annotated

from pydantic import BaseModel, Field

from tagsight.index import Hit, Index
from tagsight.index.lookup import ListedPhoto, StoredPhoto
from tagsight.index.names import LONGEST
from tagsight.pictures.drawing import DrawnPhoto, draw_photo
from tagsight.predict.factors import list_factors

NEXT_START = "The `start` of the next page; null on the last page."

Probability = Annotated[float, Field(ge=0, le=1)]
Box = Annotated[
    list[int],
    Field(min_length=4, max_length=4, description="Bounding box x0, y0, x1, y1 in pixels; x1 and y1 are exclusive."),
]
Size = Annotated[list[int], Field(min_length=2, max_length=2, description="Width and height of the photo in pixels.")]
PhotoId = Annotated[int, Field(description="Number of the photo in the index.")]
RegionId = Annotated[int, Field(description="Number of the region in its photo, from 0.")]
RelativePath = Annotated[str, Field(description="Path of the file, relative to the folder that was indexed.")]
FactorId = Annotated[str, Field(description="Factor name in the model: a tag, or `free-1` and so on.")]


class ErrorResponse(BaseModel):
    """Why a request failed."""

    detail: Annotated[str, Field(description="One sentence: what is wrong and, where possible, what to do.")]


class UnknownWordResponse(ErrorResponse):
    """Why a search failed: a syntax error, or a word that the index does not have."""

    word: Annotated[str | None, Field(description="The unknown word; null for other errors.")] = None
    nearest: Annotated[list[str], Field(description="Words of the index with a similar spelling.")] = []


class ScoredWord(BaseModel):
    """A word and its probability in a region."""

    name: str
    score: Annotated[
        Probability,
        Field(
            description="The probability that the word applies to the region. For an object: that the object is in "
            "the photo and this region shows it."
        ),
    ]


class DiscoveredFactor(BaseModel):
    """A factor that the model found and that no tag names."""

    factor: FactorId
    name: Annotated[str | None, Field(description="The name that a user gave to the factor, if any.")]


class WordsResponse(BaseModel):
    """Every word that a search can use."""

    objects: list[str]
    attributes: list[str]
    discovered: list[DiscoveredFactor]


class MatchResponse(BaseModel):
    """The region that fits one part of a query best."""

    factors: Annotated[list[str], Field(description="The words of this part of the query.")]
    score: Annotated[Probability, Field(description="The probability that all of these words apply to the region.")]
    region: RegionId
    box: Box


class HitResponse(BaseModel):
    """A photo that a search found."""

    photo: PhotoId
    path: RelativePath
    size: Size
    score: Annotated[
        Probability,
        Field(description="For a query, the product of the scores of its parts. For similar photos, the similarity."),
    ]
    matches: Annotated[list[MatchResponse], Field(description="One match for each part of the query, in its order.")]


class SearchResponse(BaseModel):
    """Photos that fit a query, best first."""

    query: str
    threshold: Probability
    total: Annotated[int, Field(ge=0, description="How many photos of the index score at least the threshold.")]
    hits: list[HitResponse]
    next: Annotated[int | None, Field(description=NEXT_START)]


class SimilarResponse(BaseModel):
    """Photos that resemble another photo, most similar first."""

    hits: list[HitResponse]


class PhotoSummary(BaseModel):
    """A photo of the index without its regions."""

    photo: PhotoId
    path: RelativePath
    size: Size


class PhotosResponse(BaseModel):
    """Photos of the index in order of their numbers."""

    photos: list[PhotoSummary]
    next: Annotated[int | None, Field(description=NEXT_START)]


class RegionResponse(BaseModel):
    """One region of a photo with its most probable words."""

    region: RegionId
    box: Box
    object: Annotated[str | None, Field(description="The object that the region most probably shows; null: none.")]
    objects: Annotated[list[ScoredWord], Field(description="The most probable objects, best first.")]
    attributes: Annotated[list[ScoredWord], Field(description="The most probable attributes, best first.")]
    discovered: Annotated[list[ScoredWord], Field(description="The most probable discovered factors, best first.")]
    outline: Annotated[
        list[list[list[float]]],
        Field(description="Polygons of [x, y] points in pixels, to be filled by the even-odd rule."),
    ]


class ObjectResponse(BaseModel):
    """An object of a photo, and the region that shows it most clearly."""

    name: str
    score: Annotated[Probability, Field(description="The probability that the object is in the photo.")]
    region: RegionId


class PredictionResponse(BaseModel):
    """The objects and the regions of a photo."""

    size: Size
    objects: Annotated[
        list[ObjectResponse],
        Field(description="The most probable objects, best first: the ones that `tagsight annotate` lists."),
    ]
    regions: list[RegionResponse]


class PhotoResponse(PredictionResponse):
    """The objects and the regions of a photo of the index."""

    photo: PhotoId
    path: RelativePath


class CorrelatedFactor(BaseModel):
    """A factor that occurs together with another."""

    name: FactorId
    correlation: Annotated[float, Field(description="Correlation over the regions of the training photos.")]


class FactorResponse(BaseModel):
    """A factor of the model: a tag, or a discovered factor."""

    factor: FactorId
    name: Annotated[str | None, Field(description="The name that a user gave to a discovered factor, if any.")]
    kind: Annotated[str, Field(description="`object`, `attribute`, or `free` for a discovered factor.")]
    share: Annotated[Probability, Field(description="The share of the training regions to which it applies.")]
    correlated: Annotated[list[CorrelatedFactor], Field(description="The most correlated factors, strongest first.")]
    example_crops: Annotated[list[str], Field(description="Addresses of JPEGs: training regions that show it clearly.")]


class NameRequest(BaseModel):
    """A name for a discovered factor."""

    name: Annotated[str, Field(min_length=1, max_length=4 * LONGEST)]


def to_hit(hit: Hit) -> HitResponse:
    """The record of a hit."""
    return HitResponse.model_validate(hit.to_json())


def to_summary(photo: ListedPhoto) -> PhotoSummary:
    """The record of a photo without its regions."""
    return PhotoSummary.model_validate(photo._asdict())


def to_prediction(drawn: DrawnPhoto) -> PredictionResponse:
    """The record of the objects and the regions of a photo."""
    regions = [{**region.details.to_json(), "outline": region.rings} for region in drawn.regions]
    objects = [{"name": one.name, "score": one.score, "region": one.region} for one in drawn.objects]
    return PredictionResponse.model_validate({"size": drawn.size, "objects": objects, "regions": regions})


def to_photo(stored: StoredPhoto, n_objects: int) -> PhotoResponse:
    """The record of a photo of the index."""
    prediction = to_prediction(draw_photo(stored.regions, n_objects))
    return PhotoResponse(photo=stored.photo, path=stored.path, **dict(prediction))


def list_factor_responses(index: Index) -> list[FactorResponse]:
    """The records of all factors of the index's model, in column order."""
    model, names = index.model, index.names
    return [
        FactorResponse.model_validate(
            {
                **factor.to_json(),
                "factor": factor.name,
                "name": names.get(factor.name),
                "example_crops": [f"/api/factors/{column}/example_crops/{i}.jpg" for i in range(len(crops))],
            }
        )
        for column, (factor, crops) in enumerate(zip(list_factors(model), model.example_crops, strict=True))
    ]
