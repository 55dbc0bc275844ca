"""A page of search results: each photo with its score and the matching regions outlined."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from tagsight.data.photo import read_photo
from tagsight.errors import UnreadablePhotoError
from tagsight.index.search import Hit
from tagsight.pictures.factor_page import inline_jpeg, open_templates
from tagsight.pictures.overlay import encode_jpeg
from tagsight.regions import resize_map
from tagsight.types import Array

if TYPE_CHECKING:
    from tagsight.index.handle import Index

SIDE = 480  # pixels of the longer side, at most
COLOURS = ((255, 214, 0), (0, 200, 255), (255, 96, 96), (120, 230, 80))


def render_hits(index: "Index", heading: str, hits: list[Hit]) -> str:
    """A page as HTML with its pictures embedded; queries, names and paths are escaped."""
    shown = [_prepare_hit(index, hit) for hit in hits]
    return open_templates().get_template("find.html").render(heading=heading, hits=shown)


def render_pictures(index: "Index", hits: Sequence[Hit]) -> str:
    """The pictures as HTML, for a notebook."""
    shown = [_prepare_hit(index, hit) for hit in hits]
    pictures = open_templates().get_template("hits.html").render(hits=shown)
    columns = "display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: 1rem"
    return f'<div style="{columns}">{pictures}</div>'


def draw_outlines(pixels: Array, masks: list[Array]) -> Array:
    """A copy of `pixels` (h, w, 3) with the edges of each mask (h, w) in its own colour."""
    picture = pixels.copy()
    for number, mask in enumerate(masks):
        contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, contours, -1, COLOURS[number % len(COLOURS)], 2)
    return picture


def _prepare_hit(index: "Index", hit: Hit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "score": hit.score,
        "clauses": [(" ".join(match.factors), match.score, match.box) for match in hit.matches],
        "picture": _draw(index, hit),
    }


def _draw(index: "Index", hit: Hit) -> str | None:
    """The photo with its regions outlined as a data URL; None if the file cannot be read any more."""
    try:
        pixels = read_photo(Path(index.manifest.root, hit.path), max_side=SIDE).pixels
    except UnreadablePhotoError:
        return None
    labels = resize_map(index.labels(hit.photo), (pixels.shape[1], pixels.shape[0])) if hit.matches else None
    masks = [labels == match.region for match in hit.matches] if labels is not None else []
    return inline_jpeg(encode_jpeg(draw_outlines(pixels, masks)))
