"""The exceptions tagsight raises on purpose.

TagsightError
├── InputError (also a ValueError)   a value from outside does not fit: says which, and what would
│   ├── UnreadablePhotoError         a file that cannot be read as a photo: names it and the reason
│   └── WriteError (also an OSError) a file that cannot be written: names it and the reason
└── StoppedError                     a signal asked to stop, and what was done is kept

TagsightWarning is a warning: the work continues.
└── LeftOutWarning                   a file that was left out: names it and the reason
"""

import os
from signal import Signals


class TagsightError(Exception):
    """Root of every exception raised on purpose."""


class InputError(TagsightError, ValueError):
    """A value from outside does not fit; the message names it and the remedy."""


class UnreadablePhotoError(InputError):
    """A file cannot be read as a photo.

    Both arguments are kept as they came, so the error survives the way back from a worker process.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str):
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{os.fspath(self.path)!r} cannot be read as a photo: {self.reason}"


class WriteError(InputError, OSError):
    """A file cannot be written."""

    def __init__(self, path: str | os.PathLike[str], reason: str, remedy: str):
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"cannot write {os.fspath(self.path)!r}: {self.reason}; {self.remedy}"


class StoppedError(TagsightError):
    """A signal asked to stop, and what was done is kept; `advice` says how to go on."""

    def __init__(self, signal: int, advice: str = ""):
        super().__init__(signal, advice)
        self.signal = signal
        self.advice = advice

    def __str__(self) -> str:
        stopped = f"stopped by {Signals(self.signal).name}"
        return f"{stopped}; {self.advice}" if self.advice else stopped


class TagsightWarning(UserWarning):
    """Something that does not stop the work, and that the user should know; commands print it as one sentence."""


class LeftOutWarning(TagsightWarning):
    """A file or folder that was left out; the message names it and the reason."""
