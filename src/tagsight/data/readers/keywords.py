"""Photos that contain their keywords: XMP and IPTC in the file, and ``.xmp`` files beside it.

Keywords are not marked as nouns or adjectives: a word list (``word,kind``) tells them apart. Words that it lacks are
left out and reported once. Every level of a hierarchical keyword ("animals|horse", in digiKam's list "animals/horse")
is a keyword. A sidecar is named ``photo.xmp`` or ``photo.jpg.xmp``; the keywords of both and of the photo are merged.
Every photo under the folder is listed, with keywords or without. Links to files are read like files.
"""

from pathlib import Path

from tagsight.data.collection import Problem, Row, Table
from tagsight.data.listing import list_photos
from tagsight.data.readers.embedded import read_embedded
from tagsight.data.readers.reader import Options, Reader, report_unknown
from tagsight.data.readers.xmp import LIMIT, find_keywords
from tagsight.data.vocabulary import Vocabulary
from tagsight.data.wordlist import WordList, load_wordlist, sort_words
from tagsight.errors import InputError


def read(path: Path, options: Options) -> Table:
    """Read the keywords of every photo under a folder."""
    if options.words is None:
        raise InputError(
            "keywords do not tell nouns from adjectives: give a word list (--words), a CSV with the columns word,kind"
        )
    wordlist = load_wordlist(options.words)
    listing = list_photos(path)
    problems = list(listing.problems)
    unknown: dict[str, None] = {}
    rows: list[Row] = []
    for photo in listing.photos:
        words = sort_words(wordlist, _read_keywords(photo, problems))
        unknown.update(dict.fromkeys(words.unknown))
        rows.append(Row(str(photo.relative_to(path)), words.objects, words.attributes, "keywords"))
    problems += report_unknown(options.words, unknown)
    return Table(path, path, tuple(rows), _declare(wordlist, rows), tuple(problems))


def _read_keywords(photo: Path, problems: list[Problem]) -> list[str]:
    words: list[str] = []
    try:
        words += read_embedded(photo)
    except InputError as error:
        problems.append(Problem(photo, str(error)))
    for sidecar in (photo.with_suffix(".xmp"), photo.with_name(f"{photo.name}.xmp")):
        if not sidecar.is_file():
            continue
        try:
            words += find_keywords(_read_sidecar(sidecar))
        except InputError as error:
            problems.append(Problem(sidecar, str(error)))
    return words


def _read_sidecar(sidecar: Path) -> bytes:
    try:
        with sidecar.open("rb") as file:
            return file.read(LIMIT + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from error


def _declare(wordlist: WordList, rows: list[Row]) -> Vocabulary:
    """The words of the list that occur, in the order of the list, which may be far larger than the collection."""
    used = {word for row in rows for word in row.objects + row.attributes}
    return Vocabulary(
        tuple(word for word, kind in wordlist.kinds.items() if kind == "object" and word in used),
        tuple(word for word, kind in wordlist.kinds.items() if kind == "attribute" and word in used),
    )


def _fits(path: Path) -> bool:
    """False: the format would fit every folder of photos, so it is used only if it is asked for by name."""
    del path
    return False


READER = Reader("keywords inside the photos (asked for by name)", _fits, read, frozenset({"words"}))
