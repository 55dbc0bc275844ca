"""tagsight inspect."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tagsight.cli.arguments import AsJson, CollectionFolder
from tagsight.cli.console import list_problems, print_json, show_text
from tagsight.cli.options import Format, PhotoFolder, Split, SynonymFile, WordFile
from tagsight.data.collection import Collection, Problem
from tagsight.data.photo import read_photo
from tagsight.data.readers import open_collection
from tagsight.data.summary import Summary, TagCount, summarise
from tagsight.errors import UnreadablePhotoError
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.progress import Report, show_progress


def run(
    collection: CollectionFolder,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    json: AsJson = False,
) -> None:
    """Count a collection's photos and tags, and list the photos that cannot be used."""
    opened = open_collection(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    with show_progress() as report:
        unreadable = find_unreadable(opened, report)
    summary = summarise(opened._replace(problems=opened.problems + tuple(unreadable)))
    if json:
        print_json(summary.to_json())
    else:
        print_summary(summary)


def print_summary(summary: Summary) -> None:
    """Print the counts, and list the problems on standard error."""
    print(f"{show_text(summary.name)}: {summary.photos} photos, {len(summary.problems)} problems")
    for kind, counts in (("objects", summary.objects), ("attributes", summary.attributes)):
        print(f"{len(counts)} {kind}: {', '.join(format_count(count) for count in counts)}")
    print(f"{summary.objects_per_photo:.1f} objects and {summary.attributes_per_photo:.1f} attributes per photo")
    print(f"rare (on fewer than {summary.rare_below} photos): {', '.join(map(show_text, summary.rare)) or 'none'}")
    print(f"{len(summary.untagged)} photos without tags, {len(summary.unlisted)} on disk but not listed")
    list_problems(summary.problems)


def format_count(count: TagCount) -> str:
    """A tag and its number of photos, such as `horse 12`."""
    return f"{show_text(count.name)} {count.photos}"


def find_unreadable(collection: Collection, report: Report) -> list[Problem]:
    """Photos that are listed and exist, but cannot be decoded; threads decode, since decoders release the GIL."""
    problems: list[Problem] = []
    with ThreadPoolExecutor() as pool:
        try:
            for done, problem in enumerate(pool.map(_try_photo, [photo.path for photo in collection.photos]), 1):
                check_stop()
                report("reading photos", done, len(collection.photos))
                if problem is not None:
                    problems.append(problem)
        finally:
            pool.shutdown(cancel_futures=True)
    return problems


def _try_photo(path: Path) -> Problem | None:
    try:
        read_photo(path)
    except UnreadablePhotoError as error:
        return Problem(path, error.reason)
    return None
