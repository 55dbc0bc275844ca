"""tagsight inspect."""

from tagsight.cli.arguments import AsJson, CollectionFolder, Format, PhotoFolder, Split, SynonymFile, WordFile
from tagsight.cli.console import list_problems, print_json
from tagsight.data.collection import Collection, Problem
from tagsight.data.photo import read_photo
from tagsight.data.readers import open_collection
from tagsight.data.summary import TagCount, summarise
from tagsight.errors import UnreadablePhotoError


def run(
    collection: CollectionFolder,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    json: AsJson = False,
) -> None:
    """Count a collection's photos and tags, and list what cannot be used."""
    opened = open_collection(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    summary = summarise(opened._replace(problems=opened.problems + tuple(find_unreadable(opened))))
    if json:
        print_json(summary.to_json())
        return
    print(f"{summary.name}: {summary.photos} photos, {len(summary.problems)} problems")
    for kind, counts in (("objects", summary.objects), ("attributes", summary.attributes)):
        print(f"{len(counts)} {kind}: {', '.join(say(count) for count in counts)}")
    print(f"{summary.objects_per_photo:.1f} objects and {summary.attributes_per_photo:.1f} attributes a photo")
    print(f"rare (on fewer than {summary.rare_below} photos): {', '.join(summary.rare) or 'none'}")
    print(f"{len(summary.untagged)} photos without tags, {len(summary.unlisted)} on disk but not listed")
    list_problems(summary.problems)


def say(count: TagCount) -> str:
    """horse 12."""
    return f"{count.name} {count.photos}"


def find_unreadable(collection: Collection) -> list[Problem]:
    """Photos that are listed and there, but cannot be decoded."""
    problems: list[Problem] = []
    for photo in collection.photos:
        try:
            read_photo(photo.path)
        except UnreadablePhotoError as error:
            problems.append(Problem(photo.path, error.reason))
    return problems
