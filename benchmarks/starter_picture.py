"""Draw what the starter model finds in the photos of docs/images/photos, and write its answer into the README.

python benchmarks/starter_picture.py
"""

from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import tagsight
from tables import ROOT, insert
from tagsight.cli.console import format_object
from tagsight.pictures.overlay import encode_jpeg
from tagsight.storage.files import write_atomically
from tagsight.types import Array

PHOTOS = ROOT / "docs/images/photos"
NAMES = ("cat.jpg", "astronaut.jpg")  # see CREDITS.txt there
PICTURE = ROOT / "docs/images/starter.jpg"
README = ROOT / "README.md"
HEIGHT, GAP = 320, 14  # pixels of a photo, and around it
TITLE, TEXT = 22, 16  # pixels of letters
OUTLINE = (255, 214, 0)
NO_BREAK = "\u00a0"


class Panel(NamedTuple):
    """A photo with an outline, and the words below it."""

    pixels: Array  # (HEIGHT, w, 3)
    title: str
    lines: list[str]


def main() -> None:
    model = tagsight.load()
    paths = [PHOTOS / name for name in NAMES]
    write_atomically(PICTURE, encode_jpeg(join_panels([make_panel(model, path) for path in paths])))
    insert(README, "starter-output", f"```\n{format_answer(model, paths[0])}\n```\n")


def format_answer(model: tagsight.Model, path: Path) -> str:
    """What `tagsight annotate` prints of a photo in the present folder."""
    (photo,) = model.annotate(path)
    return "\n".join([path.name, *(f"  {format_object(one)}" for one in photo.objects)])


def make_panel(model: tagsight.Model, path: Path) -> Panel:
    """The most probable object of a photo: its outline, its name and score, and its attributes."""
    (photo,) = model.annotate(path, objects=1)
    (found,) = photo.objects
    outline = model.segment(path)
    mask = outline.labels == outline.names.index(found.name)
    with Image.open(path) as image:
        width = round(image.width * HEIGHT / image.height)
        pixels = np.asarray(image.convert("RGB").resize((width, HEIGHT), Image.Resampling.LANCZOS))
    attributes = ", ".join(f"{one.name}{NO_BREAK}{one.score:.2f}" for one in found.attributes)
    lines = [line.replace(NO_BREAK, " ") for line in wrap(attributes, width // 8)]
    small = cv2.resize(mask.astype(np.uint8), (width, HEIGHT), interpolation=cv2.INTER_NEAREST)
    return Panel(draw_outline(pixels, small), f"{found.name} {found.score:.2f}", lines)


def draw_outline(pixels: Array, mask: Array) -> Array:
    """The photo with the region of `mask` (h, w) outlined, and everything else grey and darker."""
    grey = 0.45 * pixels.mean(axis=2, keepdims=True).repeat(3, axis=2)
    drawn = np.where(mask[..., None] > 0, pixels, grey).astype(np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    return np.asarray(cv2.drawContours(drawn, contours, -1, OUTLINE, 2))


def join_panels(panels: list[Panel]) -> Array:
    """(h, w, 3) uint8: the panels side by side on white."""
    n_lines = max(len(panel.lines) for panel in panels)
    height = GAP + HEIGHT + GAP + TITLE + 6 + n_lines * (TEXT + 6) + GAP
    canvas = Image.new("RGB", (GAP + sum(panel.pixels.shape[1] + GAP for panel in panels), height), "white")
    draw = ImageDraw.Draw(canvas)
    x = GAP
    for panel in panels:
        canvas.paste(Image.fromarray(panel.pixels), (x, GAP))
        y = GAP + HEIGHT + GAP // 2
        draw.text((x, y), panel.title, fill="black", font=ImageFont.load_default(TITLE))
        for number, line in enumerate(panel.lines):
            place = (x, y + TITLE + 8 + number * (TEXT + 6))
            draw.text(place, line, fill=(70, 70, 70), font=ImageFont.load_default(TEXT))
        x += panel.pixels.shape[1] + GAP
    return np.asarray(canvas)


if __name__ == "__main__":
    main()
