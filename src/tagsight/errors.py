"""The exceptions and warnings of tagsight. Messages state the problem, with the value, and the remedy.

TagsightError
├── InputError (also a ValueError)   an argument, a file or a photo is invalid
│   ├── UnreadablePhotoError         a file cannot be read as a photo
│   └── WriteError (also an OSError) a file cannot be written
└── StoppedError                     a signal stopped the work; finished parts are kept

TagsightWarning
└── LeftOutWarning                   a file or folder was left out
"""

import os
from signal import Signals


class TagsightError(Exception):
    """Base class of all exceptions of tagsight."""


class InputError(TagsightError, ValueError):
    """An argument or an input file is invalid."""


class UnreadablePhotoError(InputError):
    """A file cannot be read as a photo.

    The arguments are stored as given, so that the exception can be pickled in a worker process.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str):
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{os.fspath(self.path)!r} cannot be read as a photo: {self.reason}"


class WriteError(InputError, OSError):
    """A file or folder cannot be written."""

    def __init__(self, path: str | os.PathLike[str], reason: str, remedy: str):
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"cannot write {os.fspath(self.path)!r}: {self.reason}; {self.remedy}"


class StoppedError(TagsightError):
    """A signal stopped the work; finished parts are kept, and `advice` states how to continue."""

    def __init__(self, signal: int, advice: str = ""):
        super().__init__(signal, advice)
        self.signal = signal
        self.advice = advice

    def __str__(self) -> str:
        stopped = f"stopped by {Signals(self.signal).name}"
        return f"{stopped}; {self.advice}" if self.advice else stopped


class TagsightWarning(UserWarning):
    """A problem that does not stop the work; commands print it as one sentence."""


class LeftOutWarning(TagsightWarning):
    """A file or folder was left out; the message states the reason."""
