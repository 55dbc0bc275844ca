"""tagsight review."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, Backbone, CollectionPhotos, JournalFile
from tagsight.cli.console import list_problems, print_json, show_text
from tagsight.cli.options import Format, PhotoFolder, Split, SynonymFile, WordFile
from tagsight.data.collection import Collection
from tagsight.errors import InputError
from tagsight.review.decided import find_name, open_for_review
from tagsight.review.journal import locate_journal, read_current
from tagsight.review.queues import QUEUES, TOP, Item, list_next, list_pairs, review_photo, review_word
from tagsight.review.table import ReviewTable, make_table
from tagsight.runtime.messages import print_message
from tagsight.runtime.progress import show_progress
from tagsight.types import Array

SOURCE = "Model file, or index of the photos that 'tagsight index' wrote. An index is faster."
QUEUE = (
    "suggested: words that photos probably lack; doubtful: tags that are probably wrong; next: photos worth tagging "
    "now. Default: suggested, or everything about the word or the photo that is given."
)
THRESHOLD = "Leave out missing words (suggested) and wrong tags (doubtful) that are less probable."


def run(
    collection: CollectionPhotos,
    source: Annotated[Path | None, typer.Argument(metavar="MODEL|INDEX", help=SOURCE)] = None,
    queue: Annotated[str | None, typer.Option(help=QUEUE, show_default=False)] = None,
    word: Annotated[str | None, typer.Option(help="Only this word.")] = None,
    photo: Annotated[str | None, typer.Option(help="Only this photo, by its path in the folder.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Maximum number of items.")] = TOP,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help=THRESHOLD)] = 0.0,
    journal: JournalFile = None,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """List words that photos probably lack, tags that are probably wrong, or photos worth tagging next."""
    if queue not in (None, *QUEUES):
        raise InputError(f"there is no queue {queue!r}; choose one of {', '.join(QUEUES)}")
    if source is None and queue != "next":
        raise InputError("give a MODEL or an INDEX; only '--queue next' works without")
    if photo is not None and queue == "next":
        raise InputError("'--queue next' lists photos: leave --photo out")
    opened = open_for_review(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    table = _make_table(opened, source, backbone, journal)
    model = table.snapshot.manifest.model if table.snapshot else None
    for item in _list_items(table, queue, word, photo, top, threshold):
        if json:
            print_json({**item.to_json(), "model": model})
        else:
            print(format_item(item))


def _list_items(
    table: ReviewTable, queue: str | None, word: str | None, photo: str | None, top: int, threshold: float
) -> list[Item]:
    column = None if word is None else table.find_word(word)
    row = None if photo is None else table.find_photo(find_name(table.root, photo))
    if queue == "next":
        return list_next(table, vectors=_extract_vectors(table), word=column, top=top)
    if queue is not None or (row is None and column is None):
        name = "doubtful" if queue == "doubtful" else "suggested"
        return list_pairs(table, name, photo=row, word=column, threshold=threshold, top=top)
    if row is None:
        assert column is not None
        return review_word(table, column, top=top)
    return [item for item in review_photo(table, row) if column is None or item.word == table.words[column].word][:top]


def _extract_vectors(table: ReviewTable) -> Array | None:
    """Vectors of the photos if there is no index to compare them by."""
    if table.snapshot is not None:
        return None
    from tagsight.review.selection import extract_photo_vectors

    with show_progress() as report:
        return extract_photo_vectors([table.root / photo for photo in table.photos], report)


def _make_table(
    collection: Collection, source: Path | None, backbone: Path | None, journal: Path | None
) -> ReviewTable:
    """The table of the collection, with the predictions of a model or an index and the decisions of the journal."""
    entries = read_current(locate_journal(collection.root) if journal is None else journal)
    if source is None:
        return make_table(collection, None, entries)
    from tagsight.review.predictions import open_predictions

    with show_progress() as report:
        index, built = open_predictions(collection, source, report, backbone=backbone)
    list_problems(built.problems if built else ())
    table = make_table(collection, index.snapshot, entries)
    missing = int((table.places < 0).sum())
    if missing == len(table.photos):
        raise InputError(f"{str(source)!r} has none of the photos of {str(collection.root)!r}: index them first")
    if missing and built is None:
        print_message(f"photos that are not in the index and have no scores: {missing}; a model would score them")
    return table


def format_item(item: Item) -> str:
    """A line such as `0.912 horses/7.jpg: horse (tag, decided no) at 10,20,110,90`."""
    score = "    -" if item.score is None else f"{item.score:.3f}"
    notes = (["tag"] if item.tagged else []) + ([f"decided {item.decided}"] if item.decided else [])
    word = f": {show_text(item.word)}" if item.word else ""
    where = f" at {','.join(map(str, item.evidence.box))}" if item.evidence else ""
    known = f" ({', '.join(notes)})" if notes else ""
    return f"{score} {show_text(item.photo)}{word}{known}{where}"
