"""What commands say: data on standard output, everything else on standard error."""

import io
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tagsight.data.collection import Problem
from tagsight.errors import TagsightWarning
from tagsight.runtime.progress import Report


def warn(text: str) -> None:
    """One sentence on standard error, with whatever would do something to a terminal escaped."""
    try:
        print(f"tagsight: {escape_text(text)}", file=sys.stderr, flush=True)
    except OSError:  # nobody reads it any more, or its disk is full
        _discard(sys.stderr.fileno())  # the work goes on


def print_warnings() -> None:
    """Print warnings of tagsight as one sentence; those of other libraries as Python does."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, TagsightWarning):
            warn(f"warning: {message}")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show


def list_problems(problems: Iterable[Problem]) -> None:
    """What was left out and why, one line each; file names are escaped."""
    for problem in problems:
        warn(f"left out {str(problem.path)!r}: {problem.reason}")


def escape_text(text: str) -> str:
    r"""Text whose characters are all printable: others as escapes such as \x1b."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


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
            _discard(self.fileno())
            raise SystemExit(0) from None
        except OSError as error:
            _discard(self.fileno())
            warn(f"cannot write to standard output: {error.strerror}")
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


def _discard(descriptor: int) -> None:
    """Send what is written to a file descriptor from now on to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@contextmanager
def show_progress() -> Iterator[Report]:
    """Progress of each stage on standard error: a bar on a terminal, else lines."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        lines = _ProgressLines()
        yield lines.report
        lines.end_stage()
        return
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    ]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total or None)
            progress.update(tasks[stage], completed=done)

        yield report


class _ProgressLines:
    """Progress as lines of a log: at the start of a stage, every tenth of it and its end.

    Where the total is unknown, a line is printed each time the count has doubled.
    """

    def __init__(self) -> None:
        self._stage = ""
        self._waiting = ""  # the last line, if it was not printed
        self._next = 0.0  # the count at which a line is printed

    def report(self, stage: str, done: int, total: int) -> None:
        """Print a line if one is due."""
        if stage != self._stage:
            self.end_stage()
            self._stage, self._next = stage, 0.0
        line = f"{stage}: {done} of {total}" if total else f"{stage}: {done}"
        if done < min(self._next, total or self._next):
            self._waiting = line
            return
        self._waiting = ""
        self._next = done + total / 10 if total else max(1, 2 * done)
        warn(line)

    def end_stage(self) -> None:
        """Print where the stage ended, which may be before its total."""
        if self._waiting:
            warn(self._waiting)
        self._waiting = ""
