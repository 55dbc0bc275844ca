"""Pictures of photos beside their segmentations."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tagsight.data.photo import read_photo
from tagsight.pictures.palette import make_voc_palette
from tagsight.regions import resize_map
from tagsight.types import Array
from tagsight_bench.evaluation.segmentation import paint_labels
from tagsight_bench.methods import find_entry, make_method
from tagsight_bench.trial import ExtractedSource, Trial, make_trial

HEIGHT = 150  # pixels of a row
GAP = 4
HEADING = 26
TINT = 0.7


class Picture(NamedTuple):
    """A column of segmentations: its heading, the method, and the number of attributes among the tags."""

    heading: str
    method: str
    attributes: int


class Row(NamedTuple):
    """A photo and its label maps (H, W)."""

    pixels: Array  # (h, w, 3) uint8
    masks: tuple[Array, ...]


def outline_photos(extracted: ExtractedSource, pictures: Sequence[Picture], count: int, *, seed: int) -> list[Row]:
    """`count` test photos at equal intervals, segmented in each way; the truth is the last column."""
    trials = {n: make_trial(extracted, n) for n in {picture.attributes for picture in pictures}}
    truth = {i: mask for i, mask in enumerate(next(iter(trials.values())).test.masks) if mask is not None}
    places = np.unique(np.linspace(0, len(truth) - 1, min(count, len(truth))).round().astype(int))
    chosen = [list(truth)[place] for place in places]
    columns = [_outline(trials[picture.attributes], picture, chosen, seed) for picture in pictures]
    return [
        Row(
            read_photo(extracted.source.test[photo].path).pixels,
            (*(column[place] for column in columns), truth[photo]),
        )
        for place, photo in enumerate(chosen)
    ]


def draw_panels(headings: Sequence[str], rows: Sequence[Row]) -> Array:
    """(h, w, 3) uint8: one row per photo, the photo and its tinted label maps, under headings."""
    widths = [max(_fit_width(row.pixels) for row in rows)] * len(headings)
    lines = [_write_headings(headings, widths)]
    for row in rows:
        shown = [row.pixels, *(tint_labels(row.pixels, mask) for mask in row.masks)]
        lines.append(np.hstack([_frame(picture, width) for picture, width in zip(shown, widths, strict=True)]))
    return np.vstack(lines)


def tint_labels(pixels: Array, mask: Array) -> Array:
    """(h, w, 3) uint8: the photo in grey, labels in the colours of VOC; void is white."""
    small = resize_map(mask, (pixels.shape[1], pixels.shape[0]))
    grey = np.repeat(pixels.mean(axis=2, keepdims=True), 3, axis=2)
    tinted = (1 - TINT) * grey + TINT * make_voc_palette()[small]
    return np.where((small > 0)[..., None], tinted, 0.6 * grey).astype(np.uint8)


def _outline(trial: Trial, picture: Picture, photos: list[int], seed: int) -> list[Array]:
    entry = find_entry(picture.method)
    method = make_method(picture.method, entry, trial.train).fit(trial.train.photos, trial.train.tags, seed=seed)
    chosen = [trial.test.photos[photo] for photo in photos]
    return [
        paint_labels(photo, prediction.labels) for photo, prediction in zip(chosen, method.predict(chosen), strict=True)
    ]


def _fit_width(pixels: Array) -> int:
    return max(1, round(pixels.shape[1] * HEIGHT / pixels.shape[0]))


def _frame(pixels: Array, width: int) -> Array:
    """The picture at the height of a row, on white."""
    frame = np.full((HEIGHT + GAP, width + GAP, 3), 255, np.uint8)
    own = _fit_width(pixels)
    frame[:HEIGHT, :own] = np.asarray(Image.fromarray(pixels).resize((own, HEIGHT), Image.Resampling.LANCZOS))
    return frame


def _write_headings(headings: Sequence[str], widths: Sequence[int]) -> Array:
    line = Image.new("RGB", (sum(widths) + GAP * len(widths), HEADING), "white")
    draw = ImageDraw.Draw(line)
    x = 0
    for heading, width in zip(headings, widths, strict=True):
        draw.text((x + 2, 4), heading, fill="black", font=ImageFont.load_default(14))
        x += width + GAP
    return np.asarray(line)
