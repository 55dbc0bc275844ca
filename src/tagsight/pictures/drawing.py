"""The regions and objects of a photo as shapes to draw over it."""

from typing import NamedTuple

from tagsight.pictures.outlines import Ring, draw_path, outline_mask, outline_regions
from tagsight.predict.annotate import N_OBJECTS
from tagsight.predict.regions import PhotoRegions, RegionDetails, describe_regions, list_objects
from tagsight.regions import paint_regions


class DrawnRegion(NamedTuple):
    """The words and the outline of a region."""

    details: RegionDetails
    rings: list[Ring]

    @property
    def path(self) -> str:
        """The `d` of an SVG path."""
        return draw_path(self.rings)


class DrawnObject(NamedTuple):
    """An object of the photo and the outline of its regions."""

    name: str
    score: float  # probability that it is in the photo
    region: int  # where it is most probable
    path: str


class DrawnPhoto(NamedTuple):
    """The regions and objects of a photo of `size`."""

    size: tuple[int, int]  # (W, H)
    regions: list[DrawnRegion]
    objects: list[DrawnObject]  # the most probable first


def draw_photo(photo: PhotoRegions, n_objects: int = N_OBJECTS) -> DrawnPhoto:
    """Outlines of every region and of the most probable objects.

    The outline of an object surrounds the regions whose most probable label it is, and the region where it is most
    probable.
    """
    details = describe_regions(photo)
    rings = outline_regions(photo.labels, photo.size)
    drawn: list[DrawnObject] = []
    for column, name, score, region in list_objects(photo, n_objects):
        regions = photo.named.label == column + 1
        regions[region] = True
        shape = draw_path(outline_mask(paint_regions(regions, photo.labels), photo.size))
        drawn.append(DrawnObject(name, score, region, shape))
    return DrawnPhoto(photo.size, [DrawnRegion(*parts) for parts in zip(details, rings, strict=True)], drawn)
