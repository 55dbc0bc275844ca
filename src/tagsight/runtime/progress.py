"""Progress of long work: reported to a callback, and shown as a bar or as lines."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from html import escape
from typing import Any

from tagsight.runtime.messages import print_message

Report = Callable[[str, int, int], None]  # stage, items done, items in all (0: unknown)


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore a report."""


@contextmanager
def show_progress(shown: bool = True) -> Generator[Report]:
    """Show the progress of each stage: a bar in a notebook and on a terminal, otherwise lines on standard error.

    With `shown=False` nothing is shown.
    """
    if not shown:
        yield no_progress
    elif _is_notebook():
        yield _NotebookBars().report
    elif not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        lines = _ProgressLines()
        yield lines.report
        lines.end_stage()
    else:
        with _show_bars() as report:
            yield report


@contextmanager
def _show_bars() -> Generator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
        print_message(line)

    def end_stage(self) -> None:
        """Print where the stage ended, which may be before its total."""
        if self._waiting:
            print_message(self._waiting)
        self._waiting = ""


def _is_notebook() -> bool:
    """Whether this is a notebook's kernel, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _NotebookBars:
    """Progress as one bar per stage in the output of a notebook's cell, drawn again at every hundredth of the stage."""

    def __init__(self) -> None:
        self._displays: dict[str, Any] = {}
        self._drawn: dict[str, int] = {}  # count when the bar was last drawn

    def report(self, stage: str, done: int, total: int) -> None:
        """Draw the stage's bar if one is due."""
        if stage in self._drawn and done != total and done - self._drawn[stage] < max(1, total // 100):
            return
        self._drawn[stage] = done
        bar = f"<progress value={done} max={total}></progress> {done} of {total}" if total else str(done)
        picture = {"text/html": f"{escape(stage)} {bar}", "text/plain": f"{stage}: {done} of {total or '?'}"}
        if stage in self._displays:
            self._displays[stage].update(picture, raw=True)
        else:
            display = sys.modules["IPython"].display.display
            self._displays[stage] = display(picture, raw=True, display_id=True)
