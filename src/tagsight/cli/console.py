"""What commands say: data on standard output, everything else on standard error."""

import io
import json
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any

from tagsight.data.collection import Problem
from tagsight.errors import TagsightWarning
from tagsight.runtime.messages import discard_output, print_message


def print_warnings() -> None:
    """Print warnings of tagsight as one sentence; those of other libraries as Python does."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, TagsightWarning):
            print_message(f"warning: {message}")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show


def list_problems(problems: Iterable[Problem]) -> None:
    """What was left out and why, one line each; file names are escaped."""
    for problem in problems:
        print_message(f"left out {str(problem.path)!r}: {problem.reason}")


def show_text(text: str) -> str:
    """A name from outside, quoted and escaped where it would do something to a terminal."""
    return text if text.isprintable() else repr(text)


def print_json(value: Any) -> None:
    """One line of JSON; in ASCII where a character is not printable or standard output cannot encode it."""
    text = json.dumps(value, ensure_ascii=False)
    print(text if text.isprintable() and _can_print(text) else json.dumps(value))


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


class _Output(io.FileIO):
    """Standard output that ends the process where it cannot be written to.

    The exit code is 0 if its reader has left, as after `| head`, and 1 on any other error, such as a full disk.
    """

    def write(self, data: Any, /) -> int | None:
        """As in `io.FileIO`."""
        try:
            return super().write(data)
        except BrokenPipeError:
            discard_output(self.fileno())
            raise SystemExit(0) from None
        except OSError as error:
            discard_output(self.fileno())
            print_message(f"cannot write to standard output: {error.strerror}")
            raise SystemExit(1) from error


def prepare_output() -> None:
    """Let standard output take text of any kind, and end the process quietly when its reader has left.

    What its encoding lacks is printed as a backslash escape. Streams that the shell has closed (``2>&-``) lead nowhere.
    """
    streams: dict[str, Any] = {"stdout": sys.stdout, "stderr": sys.stderr}
    for name, stream in streams.items():
        if stream is None:
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.devnull, "w"))))
    if (stdout := streams["stdout"]) is None:
        return
    stdout.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(stdout.fileno(), "w", closefd=False)),
        encoding=stdout.encoding,
        errors="backslashreplace",
        line_buffering=stdout.line_buffering or stdout.write_through,
    )


def flush_output() -> None:
    """Write what standard output still holds; a reader that has left changes nothing any more."""
    try:
        sys.stdout.flush()
    except SystemExit as end:
        if end.code:
            raise
