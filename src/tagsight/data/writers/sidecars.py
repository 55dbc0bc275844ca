"""Changes of tags in XMP sidecars, `photo.jpg.xmp` or `photo.xmp`, beside the photos.

Words are added to dc:subject, and to lr:hierarchicalSubject and digiKam:TagsList of sidecars that have them, since
programs that read one of these ignore dc:subject. A word that the photo has in any of them is not added to dc:subject.
Only words that tagsight wrote are removed.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem
from tagsight.data.formats import is_image
from tagsight.data.readers.embedded import read_embedded
from tagsight.data.readers.xmp import HIERARCHY, LIMIT, SUBJECT, find_keywords
from tagsight.data.tag_changes import TagChange, Wanted, check_photo, clean_word, group_changes
from tagsight.data.vocabulary import normalise_tag
from tagsight.data.writers.packet import EMPTY, NO_KEYWORDS, Keywords, edit_keywords
from tagsight.errors import InputError
from tagsight.storage.edits import Edit, FileChange, apply_edits, check_editable, decode_file


class _Folder(NamedTuple):
    """The images of a folder by their names without suffix, and whether its sidecars are named `photo.xmp`."""

    stems: Counter[str]
    short: bool


class _Photo(NamedTuple):
    """A photo and its sidecars."""

    path: Path
    texts: dict[Path, str]  # of all its sidecars
    own: tuple[Path, ...]  # those that may be changed
    new: Path  # the sidecar to make if it has none of its own
    embedded: list[str]  # the keywords inside the photo


def plan_sidecar_changes(root: Path, changes: Iterable[TagChange]) -> Iterator[FileChange | Problem]:
    """The change of each sidecar that changes, photo by photo, and the changes that cannot be made.

    Nothing is written. A sidecar is read when its photo's turn comes.
    """
    if not root.is_dir():
        raise InputError(f"{str(root)!r} is not a folder: give the folder of the photos")
    folders: dict[Path, _Folder] = {}
    for wanted in group_changes(changes):
        photo = root / wanted.photo
        try:
            check_photo(root, wanted.photo, listed=False)
            _check_folder(root, photo.parent)
            if photo.parent not in folders:
                folders[photo.parent] = _read_folder(photo.parent)
            yield from _plan_photo(_read_photo(photo, folders[photo.parent]), wanted)
        except InputError as error:
            yield Problem(photo, str(error))


def read_sidecar(file: Path) -> str | None:
    """The content of a sidecar, None if there is none; InputError for what must not or cannot be changed."""
    if not os.path.lexists(file):
        return None
    check_editable(file)
    try:
        with file.open("rb") as opened:
            content = opened.read(LIMIT + 1)
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be read: {error.strerror}") from error
    return decode_file(file, content)


def plan_sidecar(
    file: Path, before: str | None, added: Keywords, *, removed: Iterable[str] = (), create: tuple[str, ...]
) -> FileChange:
    """The change of one sidecar; `before` is its content, None if it is to be made."""
    try:
        edits = edit_keywords(EMPTY if before is None else before, added, removed=removed, create=create)
    except InputError as error:
        raise InputError(f"the sidecar {str(file)!r} is not changed: {error}") from error
    if before is None:
        edits = (Edit(0, 0, apply_edits(EMPTY, edits)),)
    return FileChange(file, before, edits)


def _check_folder(root: Path, folder: Path) -> None:
    """Raise InputError for a folder that a link leads to: its photos are not read as those of the collection."""
    if Path(os.path.realpath(folder)) != Path(os.path.realpath(root), folder.relative_to(root)):
        raise InputError("in a folder that a link leads to, which is not followed: give that folder itself")


def _read_folder(folder: Path) -> _Folder:
    stems: Counter[str] = Counter()
    schemes: Counter[bool] = Counter()
    for name in map(Path, os.listdir(folder)):
        if is_image(name):
            stems[name.stem] += 1
        elif name.suffix.lower() == ".xmp":
            schemes[not is_image(name.stem)] += 1
    return _Folder(stems, schemes[True] > schemes[False])


def _read_photo(photo: Path, folder: _Folder) -> _Photo:
    full, short = photo.with_name(f"{photo.name}.xmp"), photo.with_suffix(".xmp")
    # Another image has the same `photo.xmp`: `photo.png`, or for `photo.jpg.png` a file `photo.jpg`.
    shared = folder.stems[photo.stem] > 1 or is_image(photo.stem)
    texts = {file: text for file in (full, short) if (text := read_sidecar(file)) is not None}
    own = tuple(file for file in texts if file == full or not shared)
    return _Photo(photo, texts, own, short if folder.short and not shared else full, _read_embedded(photo))


def _plan_photo(photo: _Photo, wanted: Wanted) -> Iterator[FileChange | Problem]:
    """The changes of the sidecars of one photo, and the words that cannot be added or removed."""
    present: list[str] = []
    for change in wanted.changes:
        try:
            if change.present:
                present.append(clean_word(change.word))
        except InputError as error:
            yield Problem(photo.path, str(error))
    kept = {normalise_tag(word) for word in present}  # of two kinds, a sidecar has one word
    absent = [change.word for change in wanted.changes if not change.present and normalise_tag(change.word) not in kept]
    changes = [change for change in _plan_files(photo, present, absent) if change.edits]
    yield from changes
    left = _find_words(photo._replace(texts=photo.texts | {one.path: one.after.decode() for one in changes}))
    for word in absent:
        if normalise_tag(word) in left:
            reason = f"{word!r} is kept, since tagsight did not write it: remove it with your photo manager"
            yield Problem(photo.path, reason)


def _plan_files(photo: _Photo, present: list[str], absent: list[str]) -> Iterator[FileChange]:
    """Words are added to the first sidecar of the photo and removed from all; there may be nothing to edit."""
    known = _find_words(photo)
    flat = tuple(word for word in present if normalise_tag(word) not in known)
    added = Keywords(flat, tuple((word,) for word in present))
    for file in photo.own:
        new = added if file == photo.own[0] else NO_KEYWORDS
        yield plan_sidecar(file, photo.texts[file], new, removed=absent, create=(SUBJECT,))
    if not photo.own and flat:
        # Paths of our words alone would hide the words in the photo from programs that read paths first.
        yield plan_sidecar(photo.new, None, added, create=(SUBJECT,) if known else (SUBJECT, HIERARCHY))


def _find_words(photo: _Photo) -> set[str]:
    """The tags in the sidecars of a photo and in the photo itself."""
    words = list(photo.embedded)
    for file, text in photo.texts.items():
        try:
            words += find_keywords(text.encode())
        except InputError as error:
            raise InputError(f"the sidecar {str(file)!r} is not changed: {error}") from error
    return {normalise_tag(word) for word in words}


def _read_embedded(photo: Path) -> list[str]:
    try:
        return read_embedded(photo)
    except InputError:  # training reports a photo that cannot be read
        return []
