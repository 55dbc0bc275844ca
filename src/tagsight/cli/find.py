"""tagsight find."""

import re
from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, Backbone, IndexFolder, Page, Threshold
from tagsight.cli.console import print_json, show_text
from tagsight.errors import InputError
from tagsight.index import Hit, open_index
from tagsight.index.handle import TOP
from tagsight.storage.files import write_atomically
from tagsight.storage.outputs import check_output_file, is_page

QUERY = 'Nouns and adjectives, such as "furry brown horse, shiny car -person".'
LIKE = "Find photos similar to this one, or with a region similar to the region at pixel x,y of it."


def run(
    index: IndexFolder,
    query: Annotated[str | None, typer.Argument(help=QUERY)] = None,
    like: Annotated[str | None, typer.Option(metavar="PHOTO[:x,y]", help=LIKE)] = None,
    top: Annotated[int, typer.Option(min=1, help="Maximum number of photos.")] = TOP,
    threshold: Threshold = 0.0,
    backbone: Backbone = None,
    json: AsJson = False,
    output: Page = None,
) -> None:
    """Find photos by words or by a similar photo; the best come first, with the region and its score."""
    if (query is None) == (like is None):
        raise InputError("give either a query or --like PHOTO, and not both")
    if output is not None:
        check_output_file(output, "a page of tagsight", is_page)
    opened = open_index(index, backbone=backbone)
    if query is not None:
        hits = opened.find(query, top=top, threshold=threshold)
    else:
        photo, pixel = parse_photo_pixel(str(like))
        hits = [hit for hit in opened.find_similar_to_file(photo, pixel, top=top) if hit.score >= threshold]
    if output is not None:
        from tagsight.index.hits_page import render_hits

        write_atomically(output, render_hits(opened, query or f"like {like}", hits).encode())
    if json:
        for hit in hits:
            print_json(hit.to_json())
    elif output is None:
        for hit in hits:
            print(format_hit(hit))


def parse_photo_pixel(text: str) -> tuple[Path, tuple[int, int] | None]:
    """The path and the pixel of text such as `photo.jpg:120,80`; without a pixel, the path and None."""
    match = re.fullmatch(r"(.+):(\d{1,9}),(\d{1,9})", text, re.DOTALL)
    return (Path(match[1]), (int(match[2]), int(match[3]))) if match else (Path(text), None)


def format_hit(hit: Hit) -> str:
    """A line such as `0.912 horses/7.jpg: furry horse 0.912 at 10,20,110,90`."""
    matches = "; ".join(
        f"{' '.join(match.factors)} {match.score:.3f} at {','.join(map(str, match.box))}" for match in hit.matches
    )
    return f"{hit.score:.3f} {show_text(hit.path)}" + (f": {show_text(matches)}" if matches else "")
