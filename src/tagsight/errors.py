"""The exceptions tagsight raises on purpose.

TagsightError
├── InputError (also a ValueError)   a value from outside does not fit: says which, and what would
│   └── UnreadablePhotoError         a file that cannot be read as a photo: names it and the reason
└── StoppedError                     a signal asked to stop, and what was done is kept
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


class StoppedError(TagsightError):
    """A signal asked to stop, and what was done is kept."""

    def __init__(self, signal: int):
        super().__init__(signal)
        self.signal = signal

    def __str__(self) -> str:
        return f"stopped by {Signals(self.signal).name}; the same command with --resume goes on from here"
