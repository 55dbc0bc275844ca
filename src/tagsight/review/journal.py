"""The journal: an append-only record of decisions about the words of photos.

    with open_journal(locate_journal(Path("photos"))) as journal:
        journal.append([Decision("a.jpg", "object", "horse", "yes")], author="ann")
        journal.undo(author="ann")
        journal.list_current()

The state of a photo and a word is that of its last decision that was not withdrawn. Undo appends a row that withdraws
an earlier one, so the whole history stays. Threads may share a journal, and several processes may write to one file.
"""

import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from tagsight.errors import InputError
from tagsight.review.journal_file import connect, report_errors
from tagsight.review.records import Decision, Entry, Pair, check_decision, check_name, is_kind

FOLDER, FILE = ".tagsight", "decisions.sqlite"
_COLUMNS = ", ".join(Entry._fields)
_PLACES = ", ".join("?" * len(Entry._fields))
_STANDS = "d.withdraws IS NULL AND NOT EXISTS (SELECT 1 FROM decisions w WHERE w.withdraws = d.id)"
# With max(), SQLite takes the other columns of a group from the row with the maximum.
_CURRENT = ", ".join("max(d.id) AS id" if name == "id" else f"d.{name}" for name in Entry._fields)


def locate_journal(folder: Path) -> Path:
    """The usual path of the journal of a collection's folder."""
    return folder / FOLDER / FILE


def open_journal(path: Path, *, create: bool = True) -> "Journal":
    """Open the journal at `path`; without `create` it must exist and may be read-only."""
    return Journal(path, create=create)


def read_current(path: Path) -> list[Entry]:
    """The current decisions of the journal at `path`; empty if there is no journal."""
    if not path.exists():
        return []
    with open_journal(path, create=False) as journal:
        return journal.list_current()


class Journal:
    """An open journal. Threads may share it; close it, or use it in a `with` statement."""

    def __init__(self, path: Path, *, create: bool):
        self.path = path
        self._lock = threading.RLock()
        self._connection = connect(path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def append(self, decisions: Sequence[Decision], *, author: str) -> list[Entry]:
        """Record decisions, all or none; they are on disk when this returns. One undo withdraws all of them."""
        check_name(author, "author")
        checked = [check_decision(decision) for decision in decisions]
        with self._write() as rows:
            return [
                rows.add(author, Pair(one.photo, one.kind, one.word), one.state, one.source, one.model, one.score, None)
                for one in checked
            ]

    def undo(self, *, author: str) -> list[Entry]:
        """Withdraw the last call of `append` of an author that still stands; returns the decisions withdrawn."""
        with self._write() as rows:
            last = self._select(f"author = ? AND {_STANDS} ORDER BY d.id DESC LIMIT 1", author)
            if not last:
                return []
            call = self._select(f"d.id BETWEEN ? AND ? AND {_STANDS} ORDER BY d.id", last[0].action, last[0].id)
            rows.withdraw(call, author)
            return call

    def withdraw_suggested(self, *, author: str, model: str | None = None) -> list[Entry]:
        """Withdraw every decision that accepted a suggestion, or a suggestion of one model; returns these decisions."""
        with self._write() as rows:
            suggested = self._select(f"source = 'suggestion' AND {_STANDS} ORDER BY d.id")
            chosen = [entry for entry in suggested if model in (None, entry.model)]
            rows.withdraw(chosen, author)
            return chosen

    def list_current(self, *, after: Pair | None = None, limit: int | None = None) -> list[Entry]:
        """The decisions, yes or no, that stand, in the order of photo, kind and word; at most `limit`, after a pair."""
        start = Pair("", "attribute", "") if after is None else after
        rows = f"SELECT {_CURRENT} FROM decisions d WHERE (d.photo, d.kind, d.word) > (?, ?, ?) AND {_STANDS}"
        groups = "GROUP BY d.photo, d.kind, d.word HAVING d.state != 'unsay' ORDER BY d.photo, d.kind, d.word LIMIT ?"
        return self._read(f"{rows} {groups}", *start, -1 if limit is None else limit)

    def find_current(self, photo: str) -> list[Entry]:
        """The decisions about a photo, yes or no, that stand, in the order of kind and word."""
        rows = f"SELECT {_CURRENT} FROM decisions d WHERE d.photo = ? AND {_STANDS}"
        return self._read(f"{rows} GROUP BY d.kind, d.word HAVING d.state != 'unsay' ORDER BY d.kind, d.word", photo)

    def list_history(self, pair: Pair) -> list[Entry]:
        """Every row about a photo and a word, withdrawals included, first to last."""
        return self._select("photo = ? AND kind = ? AND word = ? ORDER BY d.id", *pair)

    def list_since(self, id: int, *, limit: int = 1000) -> list[Entry]:
        """The rows after the row `id`, first to last, so that a program can follow the journal; at most `limit`."""
        return self._select("d.id > ? ORDER BY d.id LIMIT ?", id, limit)

    def _select(self, condition: str, *values: object) -> list[Entry]:
        return self._read(f"SELECT {_COLUMNS} FROM decisions d WHERE {condition}", *values)

    def _read(self, query: str, *values: object) -> list[Entry]:
        with self._lock, report_errors(self.path):
            found: list[Any] = self._connection.execute(query, values).fetchall()
        return [self._parse(row) for row in found]

    def _parse(self, row: Any) -> Entry:
        """The entry of a row; the types are checked, since SQLite stores any value in any column."""
        entry = Entry(*row)
        texts: tuple[Any, ...] = (entry.time, entry.author, entry.photo, entry.word)
        if not (all(isinstance(text, str) for text in texts) and is_kind(entry.kind)):
            raise InputError(f"the journal {str(self.path)!r} has an invalid row: restore it from a backup")
        return entry

    @contextmanager
    def _write(self) -> Generator["_Rows"]:
        """Rows that are on disk after the block, or not in the journal at all if the block raises an exception."""
        with self._lock, report_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield _Rows(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


class _Rows:
    """The rows that one call appends."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM decisions").fetchone()
        self._action = self._next = int(last) + 1
        self._time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def add(self, author: str, pair: Pair, *rest: Any) -> Entry:
        """Append a row; `rest` are its fields from `state` on."""
        entry = Entry(self._next, self._action, self._time, author, *pair, *rest)
        self._connection.execute(f"INSERT INTO decisions ({_COLUMNS}) VALUES ({_PLACES})", entry)
        self._next += 1
        return entry

    def withdraw(self, entries: Sequence[Entry], author: str) -> None:
        """Append a withdrawal of each decision."""
        check_name(author, "author")
        for entry in entries:
            self.add(author, entry.pair, None, entry.source, entry.model, entry.score, entry.id)
