"""A photo's regions and objects as shapes to draw over it."""

from typing import NamedTuple

from tagsight.pictures.outlines import Ring, draw_path, outline_mask, outline_regions
from tagsight.regions import paint_regions
from tagsight.tasks.regions import PhotoRegions, SeenRegion, describe_regions


class DrawnRegion(NamedTuple):
    """A region in words and as a shape."""

    seen: SeenRegion
    rings: list[Ring]

    @property
    def path(self) -> str:
        """The `d` of an SVG path."""
        return draw_path(self.rings)


class DrawnObject(NamedTuple):
    """All regions of one object together."""

    name: str
    score: float  # where it is clearest
    region: int  # there
    path: str


class DrawnPhoto(NamedTuple):
    """What is drawn over a photo of `size`."""

    size: tuple[int, int]  # (W, H)
    regions: list[DrawnRegion]
    objects: list[DrawnObject]  # the clearest first


def draw_photo(photo: PhotoRegions, *, threshold: float = 0.0) -> DrawnPhoto:
    """Outlines of every region, and of every object that is at least as probable as `threshold` somewhere."""
    seen = describe_regions(photo, threshold=threshold)
    rings = outline_regions(photo.labels, photo.size)
    objects = photo.probabilities[:, : len(photo.names.objects)]
    values = photo.named.keep_sure(threshold)
    painted = paint_regions(values, photo.labels)
    drawn: list[DrawnObject] = []
    for value in sorted(set(values.tolist()) - {0}):
        scores = objects[:, value - 1] * (values == value)
        shape = draw_path(outline_mask(painted == value, photo.size))
        drawn.append(DrawnObject(photo.names.objects[value - 1], float(scores.max()), int(scores.argmax()), shape))
    drawn.sort(key=lambda one: -one.score)
    return DrawnPhoto(photo.size, [DrawnRegion(*parts) for parts in zip(seen, rings, strict=True)], drawn)
