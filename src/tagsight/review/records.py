"""The records of the journal, and the checks of what users and files give."""

import unicodedata
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple, TypeGuard, get_args

from tagsight.data.collection import RESERVED
from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError

Kind = Literal["object", "attribute"]
State = Literal["yes", "no", "unsay"]
Source = Literal["user", "suggestion", "import"]

LONGEST_WORD = 100  # characters
LONGEST_PATH = 1024  # characters
LONGEST_NAME = 200  # characters of an author or of the identifier of a model
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})  # Unicode categories of control characters


class Pair(NamedTuple):
    """A photo and a word."""

    photo: str  # relative to the collection's folder, with /
    kind: Kind
    word: str


class Decision(NamedTuple):
    """A decision about a photo and a word, before it is recorded."""

    photo: str  # relative to the collection's folder, with /
    kind: Kind
    word: str
    state: State  # "unsay": as if nothing had been decided
    source: Source = "user"  # "suggestion": a suggestion of the model, accepted without a look at each
    model: str | None = None  # SHA-256 of the model that was used, if any
    score: float | None = None  # the probability that was shown, if any


class Entry(NamedTuple):
    """A row of the journal: a decision, or the withdrawal of an earlier one."""

    id: int  # ascending
    action: int  # id of the first row of the same call
    time: str  # UTC, ISO 8601
    author: str
    photo: str
    kind: Kind
    word: str
    state: State | None  # None: a withdrawal
    source: Source
    model: str | None
    score: float | None
    withdraws: int | None  # id of the decision that this row withdraws

    @property
    def pair(self) -> Pair:
        """The photo and the word."""
        return Pair(self.photo, self.kind, self.word)

    def to_json(self) -> dict[str, Any]:
        """The JSON value that `decisions --json` prints."""
        return {
            "image": self.photo,
            "kind": self.kind,
            "word": self.word,
            "state": self.state,
            "time": self.time,
            "author": self.author,
            "source": self.source,
            "model": self.model,
            "score": self.score,
        }


def check_decision(decision: Decision) -> Decision:
    """The decision with its word as tags are spelled; InputError if a field is not valid."""
    check_photo_name(decision.photo)
    if not is_kind(decision.kind):
        raise InputError(f"the kind is {decision.kind!r}; choose object or attribute")
    if not is_state(decision.state):
        raise InputError(f"the decision is {decision.state!r}; choose one of {', '.join(get_args(State))}")
    if decision.source not in get_args(Source):
        raise InputError(f"the source is {decision.source!r}; choose one of {', '.join(get_args(Source))}")
    if decision.model is not None:
        check_name(decision.model, "identifier of the model")
    score = decision.score
    if score is not None and not 0.0 <= score <= 1.0:
        raise InputError(f"the score is {score}; give a probability between 0 and 1")
    return decision._replace(word=check_word(decision.word), score=None if score is None else float(score))


def check_word(text: str) -> str:
    """The word as tags are spelled; InputError if it cannot be a tag."""
    _check_text(text, "word", LONGEST_WORD)
    word = normalise_tag(text)
    if not word:
        raise InputError(f"the word {text!r} is empty: give a noun or an adjective")
    if len(word) > LONGEST_WORD:
        raise InputError(f"the word {word[:20]!r}... has {len(word)} characters; at most {LONGEST_WORD} are allowed")
    if RESERVED.fullmatch(word):
        raise InputError(f"the word {word!r} is a name that tagsight uses itself: choose another word")
    return word


def check_photo_name(photo: str) -> None:
    """Raise InputError unless the text is a relative path with / as names of photos are recorded."""
    _check_text(photo, "name of a photo", LONGEST_PATH)
    if not photo or photo.startswith("/") or str(PurePosixPath(photo)) != photo or ".." in photo.split("/"):
        raise InputError(f"{photo!r} is not the path of a photo relative to the collection's folder")


def check_name(text: str, meaning: str) -> None:
    """Raise InputError unless the text can be the name of an author or the identifier of a model."""
    _check_text(text, meaning, LONGEST_NAME)
    if not text.strip():
        raise InputError(f"the {meaning} is empty: give one")


def is_kind(value: Any) -> TypeGuard[Kind]:
    """Whether a value is a kind of word."""
    return value in get_args(Kind)


def is_state(value: Any) -> TypeGuard[State]:
    """Whether a value is the state of a decision."""
    return value in get_args(State)


def _check_text(text: str, meaning: str, longest: int) -> None:
    if len(text) > longest:
        raise InputError(f"the {meaning} {text[:20]!r}... has {len(text)} characters; at most {longest} are allowed")
    if not text.isprintable() and any(unicodedata.category(letter) in _CONTROL for letter in text):
        raise InputError(f"the {meaning} {text!r} has control characters: remove them")
