"""What the API answers, as its description tells programs."""

from typing import Annotated

from pydantic import BaseModel, Field

from tagsight.index import Hit
from tagsight.index.lookup import ListedPhoto, StoredPhoto
from tagsight.index.names import LONGEST
from tagsight.pictures.drawing import DrawnPhoto, draw_photo
from tagsight.predict.factors import Factor

Probability = Annotated[float, Field(ge=0, le=1)]
Box = Annotated[list[int], Field(min_length=4, max_length=4, description="x0, y0, x1, y1; the end is exclusive")]
Size = Annotated[list[int], Field(min_length=2, max_length=2, description="width, height")]


class Problem(BaseModel):
    """Why there is no answer."""

    detail: str


class UnknownWord(Problem):
    """Why a search has no answer."""

    word: str | None = None
    nearest: list[str] = []


class Word(BaseModel):
    """A word and the probability that it applies."""

    name: str
    score: Probability


class Discovered(BaseModel):
    """A factor that no tag names, and the name it was given."""

    factor: str
    name: str | None


class Words(BaseModel):
    """All that can be searched for."""

    objects: list[str]
    attributes: list[str]
    discovered: list[Discovered]


class MatchResponse(BaseModel):
    """Where one thing of a query is."""

    factors: list[str]
    score: Probability
    region: int
    box: Box


class HitResponse(BaseModel):
    """A photo that fits a query."""

    photo: int
    path: str
    size: Size
    score: Probability
    matches: list[MatchResponse]


class SearchResponse(BaseModel):
    """Photos that fit a query, best first."""

    query: str
    threshold: Probability
    total: Annotated[int, Field(ge=0, description="photos that score at least the threshold")]
    hits: list[HitResponse]
    next: Annotated[int | None, Field(description="the start of what follows; none at the end")]


class SimilarResponse(BaseModel):
    """Photos like another, most alike first."""

    hits: list[HitResponse]


class ListedPhotoResponse(BaseModel):
    """A photo by number."""

    photo: int
    path: str
    size: Size


class PhotosResponse(BaseModel):
    """Photos in order of their numbers."""

    photos: list[ListedPhotoResponse]
    next: Annotated[int | None, Field(description="the start of what follows; none at the end")]


class RegionResponse(BaseModel):
    """One region of a photo."""

    region: int
    box: Box
    object: Annotated[str | None, Field(description="what the region most probably is; none for background")]
    objects: list[Word]
    attributes: list[Word]
    discovered: list[Word]
    outline: Annotated[list[list[list[float]]], Field(description="rings of x, y; even-odd")]


class ObjectResponse(BaseModel):
    """An object of a photo, and the region where it is clearest."""

    name: str
    score: Annotated[Probability, Field(description="that the object is in the photo")]
    region: int


class PredictionResponse(BaseModel):
    """What is in a photo."""

    size: Size
    objects: Annotated[list[ObjectResponse], Field(description="those that 'tagsight annotate' lists, in its order")]
    regions: list[RegionResponse]


class PhotoResponse(PredictionResponse):
    """What is in a photo of the index."""

    photo: int
    path: str


class Companion(BaseModel):
    """A factor that goes with another."""

    name: str
    correlation: float


class FactorResponse(BaseModel):
    """A learned or discovered factor."""

    factor: str
    name: Annotated[str | None, Field(description="of a discovered factor: the name it was given")]
    kind: Annotated[str, Field(description="object, attribute or free")]
    share: Annotated[float, Field(description="of the training regions in which it is on")]
    goes_with: list[Companion]
    example_crops: list[str]


class NameRequest(BaseModel):
    """The name for a discovered factor."""

    name: Annotated[str, Field(min_length=1, max_length=4 * LONGEST)]


def to_hit(hit: Hit) -> HitResponse:
    """A hit for programs."""
    return HitResponse.model_validate(hit.to_json())


def to_listed_photo(photo: ListedPhoto) -> ListedPhotoResponse:
    """A photo of a list for programs."""
    return ListedPhotoResponse.model_validate(photo._asdict())


def to_prediction(drawn: DrawnPhoto) -> PredictionResponse:
    """A photo's regions for programs."""
    regions = [{**region.seen.to_json(), "outline": region.rings} for region in drawn.regions]
    objects = [{"name": one.name, "score": one.score, "region": one.region} for one in drawn.objects]
    return PredictionResponse.model_validate({"size": drawn.size, "objects": objects, "regions": regions})


def to_photo(stored: StoredPhoto, n_objects: int) -> PhotoResponse:
    """A photo of the index for programs."""
    look = to_prediction(draw_photo(stored.regions, n_objects))
    return PhotoResponse(photo=stored.photo, path=stored.path, **dict(look))


def to_factor(column: int, factor: Factor, name: str | None, n_exemplars: int) -> FactorResponse:
    """A factor for programs."""
    return FactorResponse.model_validate(
        {
            **factor.to_json(),
            "factor": factor.name,
            "name": name,
            "example_crops": [f"/api/factors/{column}/example_crops/{i}.jpg" for i in range(n_exemplars)],
        }
    )
