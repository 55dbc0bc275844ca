"""Decisions in files: what is exported is imported again, and a wrong line is refused with all others."""

import json
from pathlib import Path

import pytest

from tagsight.errors import InputError
from tagsight.review.exchange import format_csv, read_decisions
from tagsight.review.records import Decision

from .made import decide

ROWS = [
    ("a,b.jpg", "object", 'say "x"', "yes"),
    ("b.jpg", "attribute", "=furry", "no"),
    ("été/c.jpg", "object", "kuh", "yes"),
]


def test_exported_decisions_are_imported(tmp_path: Path) -> None:
    entries = decide(tmp_path / "j.sqlite", *ROWS)
    (tmp_path / "d.csv").write_text(format_csv(entries), encoding="utf-8")
    (tmp_path / "d.jsonl").write_text("".join(f"{json.dumps(entry.to_json())}\n" for entry in entries))
    expected = [Decision(*row, source="import") for row in ROWS]  # pyright: ignore[reportArgumentType]
    for name in ("d.csv", "d.jsonl"):
        assert read_decisions(tmp_path / name) == expected


def test_items_of_a_queue_become_accepted_suggestions(tmp_path: Path) -> None:
    item = {"image": "a.jpg", "kind": "object", "word": "horse", "score": 0.75, "model": "f" * 64, "evidence": None}
    (tmp_path / "s.jsonl").write_text(json.dumps(item))
    accepted = [Decision("a.jpg", "object", "horse", "no", "suggestion", "f" * 64, 0.75)]
    assert read_decisions(tmp_path / "s.jsonl", state="no") == accepted


@pytest.mark.parametrize(
    ("line", "state", "message"),
    [
        ("b.jpg,object,cat,perhaps", None, "write yes, no or unsay"),
        ("b.jpg,object,cat,", None, "has no 'state'"),
        ("b.jpg,object,cat,yes", "no", "leave the decision for all lines out"),
        ("b.jpg,noun,cat,yes", None, "write object or attribute"),
        ("b.jpg,object,,yes", None, "has no 'word'"),
        (",object,cat,yes", None, "has no 'image'"),
        ("../b.jpg,object,cat,yes", None, "not the path of a photo"),
        ("b.jpg,object,c\x07t,yes", None, "control characters"),
        ("b.jpg,object", None, "cells where the header has"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, state: str | None, message: str) -> None:
    first = "a.jpg,object,cat," if state else "a.jpg,object,cat,yes"
    (tmp_path / "d.csv").write_text(f"image,kind,word,state\n{first}\n{line}\n")
    with pytest.raises(InputError, match=f"line 3: .*{message}.*nothing was recorded") as error:
        read_decisions(tmp_path / "d.csv", state=state)  # pyright: ignore[reportArgumentType]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"score": "high"}, "number between 0 and 1"), ({"score": 2}, "between 0 and 1"), ({"word": 3}, "write text"),
     ({"score": [1]}, "number"), ({"model": "\n"}, "control")],
)  # fmt: skip
def test_a_wrong_field_is_named(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    item = {"image": "a.jpg", "kind": "object", "word": "horse", "state": "yes"} | fields
    (tmp_path / "d.jsonl").write_text(json.dumps(item))
    with pytest.raises(InputError, match=message):
        read_decisions(tmp_path / "d.jsonl")
