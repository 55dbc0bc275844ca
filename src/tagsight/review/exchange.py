"""Decisions in files: CSV and JSON lines, as `tagsight decisions` and `tagsight review --json` print them."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tagsight.data.readers.rows import read_records
from tagsight.data.textfiles import Record
from tagsight.errors import InputError
from tagsight.review.records import Decision, Entry, Kind, State, check_decision, is_kind, is_state

COLUMNS: tuple[str, ...] = ("image", "kind", "word", "state", "time", "author", "source", "model", "score")


def format_csv(entries: Iterable[Entry]) -> str:
    """The current decisions as CSV with a header line."""
    stream = io.StringIO()
    rows = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    rows.writeheader()
    rows.writerows(entry.to_json() for entry in entries)
    return stream.getvalue()


def read_decisions(path: Path, *, state: State | None = None) -> list[Decision]:
    """The decisions in a CSV file or a file of JSON lines; InputError if any line is not one.

    A line has the fields image, kind and word. Lines with the field `state` are imported decisions. For lines without
    it, which `tagsight review --json` prints, `state` is the decision, and it is recorded as an accepted suggestion.
    """
    table = read_records(path)
    for where, reason in table.faults:
        raise InputError(f"{str(path)!r}, {where}: {reason}; nothing was recorded")
    decisions: list[Decision] = []
    for record in table.records:
        try:
            decisions.append(check_decision(_parse(record, state)))
        except InputError as problem:
            raise InputError(f"{str(path)!r}, {record.where}: {problem}; nothing was recorded") from problem
    return decisions


def _parse(record: Record, state: State | None) -> Decision:
    own = _get_text(record, "state")
    if own is None and state is None:
        raise InputError("it has no 'state': add one, or give the decision for all lines: yes, no or unsay")
    if own is not None and state is not None:
        raise InputError(f"its 'state' is {own!r}: leave the decision for all lines out")
    decision = state or own
    if not is_state(decision):
        raise InputError(f"its 'state' is {decision!r}: write yes, no or unsay")
    return Decision(
        _require(record, "image"),
        _parse_kind(record),
        _require(record, "word"),
        decision,
        "import" if state is None else "suggestion",
        _get_text(record, "model"),
        _parse_score(record.values.get("score")),
    )


def _parse_kind(record: Record) -> Kind:
    kind = _require(record, "kind")
    if not is_kind(kind):
        raise InputError(f"its 'kind' is {kind!r}: write object or attribute")
    return kind


def _require(record: Record, key: str) -> str:
    text = _get_text(record, key)
    if text is None:
        raise InputError(f"it has no {key!r}: add one")
    return text


def _get_text(record: Record, key: str) -> str | None:
    """The text of a field, or None if it is missing or empty."""
    value: Any = record.values.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InputError(f"its {key!r} is {value!r}: write text")
    return value


def _parse_score(value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        raise InputError(f"its 'score' is {value!r}: write a number between 0 and 1") from problem
