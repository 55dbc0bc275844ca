"""What commands say: data on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tagsight.data.collection import Problem
from tagsight.progress import Report


def complain(text: str) -> None:
    """One sentence on standard error."""
    print(f"tagsight: {text}", file=sys.stderr)


def list_problems(problems: Iterable[Problem]) -> None:
    """What was left out and why, one line each; file names are escaped."""
    for problem in problems:
        complain(f"left out {str(problem.path)!r}: {problem.reason}")


def show_text(text: str) -> str:
    """Text from outside, escaped where it would do something to a terminal."""
    return text if text.isprintable() else repr(text)


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(json.dumps(value, ensure_ascii=False))


@contextmanager
def show_progress() -> Iterator[Report]:
    """A bar with an estimate on standard error, one a stage."""
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
