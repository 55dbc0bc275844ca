"""The output of commands: data on standard output, everything else on standard error."""

import io
import json
import os
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tagsight.errors import LeftOutWarning, TagsightWarning
from tagsight.runtime.messages import discard_output, print_message

if TYPE_CHECKING:
    from tagsight.data.collection import Problem
    from tagsight.predict.annotate import FoundObject


def print_warnings() -> None:
    """Print every warning of tagsight as one sentence; warnings of other libraries are printed as Python does."""
    default = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, LeftOutWarning):
            print_message(str(message))
        elif issubclass(category, TagsightWarning):
            print_message(f"warning: {message}")
        else:
            default(message, category, *place, **more)

    warnings.showwarning = show
    warnings.simplefilter("always", TagsightWarning)


def list_problems(problems: Iterable["Problem"]) -> None:
    """Print what was left out and why, one line each."""
    for problem in problems:
        print_message(f"left out {str(problem.path)!r}: {problem.reason}")


def show_text(text: str) -> str:
    """A name for printing; quoted and escaped if it has characters that could control a terminal."""
    return text if text.isprintable() else repr(text)


def format_object(found: "FoundObject") -> str:
    """A line such as `horse 0.93: furry 0.88, brown 0.71`."""
    attributes = ", ".join(f"{show_text(one.name)} {one.score:.2f}" for one in found.attributes)
    return f"{show_text(found.name)} {found.score:.2f}" + (f": {attributes}" if attributes else "")


def print_json(value: Any) -> None:
    """Print one line of JSON; in ASCII where a character is not printable or standard output cannot encode it."""
    text = json.dumps(value, ensure_ascii=False)
    print(text if text.isprintable() and _can_print(text) else json.dumps(value))


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


class _Output(io.FileIO):
    """Standard output that ends the process if it cannot be written to.

    The exit code is 0 if its reader has ended, as after `| head`, and 1 on any other error, such as a full disk.
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
    """Let standard output accept any text, and end the process without a message when its reader has ended.

    Characters that its encoding lacks are printed as backslash escapes. Output to streams that the shell has closed
    (`2>&-`) is discarded.
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
    """Write what standard output has buffered; a reader that has ended does not change the exit code."""
    try:
        sys.stdout.flush()
    except SystemExit as end:
        if end.code:
            raise
