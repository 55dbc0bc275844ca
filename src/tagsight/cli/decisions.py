"""tagsight decisions."""

from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, CollectionPhotos, JournalFile
from tagsight.cli.console import print_json, show_text
from tagsight.cli.options import Format, PhotoFolder, Split, SynonymFile, WordFile
from tagsight.errors import InputError
from tagsight.review.decided import open_for_review
from tagsight.review.exchange import format_csv
from tagsight.review.journal import locate_journal, read_current
from tagsight.review.records import Entry


def run(
    collection: CollectionPhotos,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    journal: JournalFile = None,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    json: AsJson = False,
) -> None:
    """Print the current decisions about the photos of a collection, yes or no."""
    if csv and json:
        raise InputError("give either --csv or --json, and not both")
    opened = open_for_review(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    entries = read_current(locate_journal(opened.root) if journal is None else journal)
    if csv:
        print(format_csv(entries), end="")
    for entry in [] if csv else entries:
        if json:
            print_json(entry.to_json())
        else:
            print(format_entry(entry))


def format_entry(entry: Entry) -> str:
    """A line such as `yes horses/7.jpg: horse (ann, 2026-01-31T12:00:00.000Z)`."""
    by = f"{show_text(entry.author)}, {show_text(entry.time)}"
    return f"{entry.state} {show_text(entry.photo)}: {show_text(entry.word)} ({by})"
