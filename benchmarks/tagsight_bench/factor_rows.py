"""Factors of a model as rows of example crops."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tagsight.predict.trained_model import ExampleCrop
from tagsight.types import Array

SIDE = 64  # pixels of a picture
GAP = 4
NAME = 110  # pixels for a factor's name


def draw_factors(names: Sequence[str], example_crops: Sequence[Sequence[ExampleCrop]]) -> Array:
    """(h, w, 3) uint8: one row per factor, its name and its pictures; factors without pictures are left out."""
    shown = [(name, row) for name, row in zip(names, example_crops, strict=True) if row]
    columns = max((len(row) for _, row in shown), default=0)
    sheet = Image.new("RGB", (NAME + columns * (SIDE + GAP), max(1, len(shown) * (SIDE + GAP))), "white")
    draw = ImageDraw.Draw(sheet)
    for y, (name, row) in enumerate(shown):
        top = y * (SIDE + GAP)
        draw.text((4, top + SIDE // 2 - 8), name, fill="black", font=ImageFont.load_default(14))
        for x, example_crop in enumerate(row):
            with Image.open(BytesIO(example_crop.jpeg), formats=("JPEG",)) as picture:
                picture.thumbnail((SIDE, SIDE))
                sheet.paste(picture, (NAME + x * (SIDE + GAP), top))
    return np.asarray(sheet)
