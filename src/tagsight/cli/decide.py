"""tagsight decide."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, CollectionPhotos, JournalFile
from tagsight.cli.console import print_json, show_text
from tagsight.cli.options import Format, PhotoFolder, Split, SynonymFile, WordFile
from tagsight.data.collection import Collection
from tagsight.errors import InputError
from tagsight.review.decided import check_decisions, find_name, list_kinds, open_for_review
from tagsight.review.exchange import read_decisions
from tagsight.review.journal import locate_journal, open_journal, read_current
from tagsight.review.records import Decision, Entry, Kind, State, check_word, is_kind, is_state

ONE_ACTION = "give a decision with --photo and --word, or --file, or --undo, or --withdraw-suggested"
STATE = "The photo has the word, does not have it, or nothing is decided about it."
FILE = (
    "CSV or JSON lines with the decisions that 'tagsight decisions' prints, or with the items that 'tagsight review "
    "--json' prints, which are all decided as given."
)


def run(
    collection: CollectionPhotos,
    state: Annotated[str | None, typer.Argument(metavar="[yes|no|unsay]", help=STATE, show_default=False)] = None,
    photo: Annotated[str | None, typer.Option(help="Photo, by its path in the folder.")] = None,
    word: Annotated[str | None, typer.Option(help="Noun or adjective.")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of a new word: object or attribute.")] = None,
    file: Annotated[Path | None, typer.Option(help=FILE)] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw the author's last decision, or last file.")] = False,
    withdraw_suggested: Annotated[
        bool, typer.Option("--withdraw-suggested", help="Withdraw every accepted suggestion of a model.")
    ] = False,
    author: Annotated[str | None, typer.Option(help="Name of the author.", show_default="the user's name")] = None,
    journal: JournalFile = None,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    json: AsJson = False,
) -> None:
    """Record in the journal of a collection which words photos have, or withdraw such decisions."""
    if [photo is not None or word is not None, file is not None, undo, withdraw_suggested].count(True) != 1:
        raise InputError(ONE_ACTION)
    if (undo or withdraw_suggested) and state is not None:
        raise InputError(f"a decision cannot be given with --{'undo' if undo else 'withdraw-suggested'}: leave it out")
    chosen = None if state is None else choose_state(state)
    opened = open_for_review(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    path = locate_journal(opened.root) if journal is None else journal
    name = author or find_user()
    if undo or withdraw_suggested:
        with open_journal(path, create=False) as written:
            gone = written.undo(author=name) if undo else written.withdraw_suggested(author=name)
        _print(path, gone, json, "withdrawn")
        return
    entries = read_current(path)
    if file is not None:
        decisions = read_decisions(file, state=chosen)
    elif photo is None or word is None or chosen is None:
        raise InputError(ONE_ACTION)
    else:
        decisions = [Decision(find_name(opened.root, photo), _find_kind(word, kind, opened, entries), word, chosen)]
    checked = check_decisions(decisions, opened, entries)
    if not checked:
        _print(path, [], json, "recorded")
        return
    with open_journal(path) as written:
        _print(path, written.append(checked, author=name), json, "recorded")


def _find_kind(word: str, given: str | None, collection: Collection, entries: list[Entry]) -> Kind:
    """The kind of a word: the given one, or that of the word in the collection or the journal."""
    kind = given or list_kinds(collection, entries).get(check_word(word))
    if kind is None:
        raise InputError(f"{word!r} is a new word: state with --kind whether it is an object or an attribute")
    if not is_kind(kind):
        raise InputError(f"there is no kind {kind!r}; choose object or attribute")
    return kind


def choose_state(text: str) -> State:
    """The state of this name; InputError for another one."""
    if not is_state(text):
        raise InputError(f"there is no decision {text!r}; choose yes, no or unsay")
    return text


def find_user() -> str:
    """The name of the user who runs the process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no entry for the user, as in some containers
        return "unknown"


def _print(path: Path, entries: list[Entry], json: bool, verb: str) -> None:
    if json:
        print_json({"journal": str(path), verb: len(entries)})
    else:
        print(f"{show_text(str(path))}: {len(entries)} {'decision' if len(entries) == 1 else 'decisions'} {verb}")
