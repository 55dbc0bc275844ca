"""The SQLite file of a journal: its schema, how it is opened, and what its errors mean.

A file is used only if its header and its schema are those of a journal; any other file is refused before anything is
written to it. Rows are never changed or removed, which triggers of the schema enforce. The file is in write-ahead mode
with full synchronisation: a row is on disk when the call that appended it returns.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tagsight.errors import InputError, WriteError
from tagsight.storage.files import name_partial
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import check_output_file

APPLICATION = 0x74616773  # "tags", in the header of the file
SCHEMA = 1
BUSY = 30.0  # seconds to wait for other processes
_HEADER = 100  # bytes
_STATEMENTS = (
    """CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    action INTEGER NOT NULL,
    time TEXT NOT NULL,
    author TEXT NOT NULL,
    photo TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('object', 'attribute')),
    word TEXT NOT NULL,
    state TEXT CHECK (state IN ('yes', 'no', 'unsay')),
    source TEXT NOT NULL CHECK (source IN ('user', 'suggestion', 'import')),
    model TEXT,
    score REAL,
    withdraws INTEGER REFERENCES decisions (id),
    CHECK ((state IS NULL) = (withdraws IS NOT NULL))
)""",
    "CREATE INDEX decisions_by_pair ON decisions (photo, kind, word, id)",
    "CREATE INDEX decisions_by_author ON decisions (author, id) WHERE withdraws IS NULL",
    "CREATE INDEX decisions_suggested ON decisions (id) WHERE source = 'suggestion' AND withdraws IS NULL",
    "CREATE UNIQUE INDEX decisions_withdrawn ON decisions (withdraws) WHERE withdraws IS NOT NULL",
    "CREATE TRIGGER decisions_kept BEFORE DELETE ON decisions "
    "BEGIN SELECT RAISE(ABORT, 'rows of the journal are never removed'); END",
    "CREATE TRIGGER decisions_unchanged BEFORE UPDATE ON decisions "
    "BEGIN SELECT RAISE(ABORT, 'rows of the journal are never changed'); END",
)


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """A connection to the journal at `path`; InputError if it is missing or another file.

    With `create`, a missing or empty file becomes a new journal. Without it, the journal may be read-only.
    """
    if create:
        check_output_file(path, "a journal of tagsight", lambda _: True)
        with hold_lock(path.with_name(f"{path.name}.lock"), wait=True, remove=True):
            if _is_new(path):
                _create(path)
    elif _is_new(path):
        raise InputError(f"there is no journal {str(path)!r}; 'tagsight decide' makes one")
    _check_header(path)
    with report_errors(path):
        connection = _open(path)
        try:
            _check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def report_errors(path: Path) -> Generator[None]:
    """Turn errors of SQLite into one sentence with the path and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        reason = str(problem)
        if "locked" in reason:
            raise InputError(f"other programs use the journal {str(path)!r} all the time; try again later") from problem
        space = "free some space or " if "full" in reason or "I/O" in reason else ""
        raise WriteError(path, reason, f"{space}choose another place with --journal") from problem
    except sqlite3.DatabaseError as problem:
        raise InputError(
            f"the journal {str(path)!r} is damaged ({problem}): restore it from a backup, or move it away"
        ) from problem


def _is_new(path: Path) -> bool:
    """Whether there is no file, or an empty one: a process was killed before it created the journal."""
    return not path.exists() or path.stat().st_size == 0


def _create(path: Path) -> None:
    """Create a journal beside `path` and rename it, so that `path` never has half of one."""
    partial = name_partial(path.parent)
    try:
        with report_errors(path), closing(sqlite3.connect(partial, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            for statement in _STATEMENTS:
                connection.execute(statement)
            connection.execute("COMMIT")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _check_header(path: Path) -> None:
    """Raise InputError unless the header of the file is that of a journal with a known schema.

    The bytes are read directly: opening a database may change it.
    """
    foreign = f"{str(path)!r} is not a journal of tagsight: move it away, or choose another place with --journal"
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError as problem:
        raise InputError(f"cannot read {str(path)!r}: {problem.strerror or problem}") from problem
    if len(header) < _HEADER or int.from_bytes(header[68:72], "big") != APPLICATION:
        raise InputError(foreign)
    schema = int.from_bytes(header[60:64], "big")
    if schema > SCHEMA:
        reason = f"was written by a newer tagsight (schema {schema}, this one reads {SCHEMA})"
        raise InputError(f"{str(path)!r} {reason}; upgrade tagsight")
    if schema < SCHEMA:
        raise InputError(foreign)


def _open(path: Path) -> sqlite3.Connection:
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK):
        connection = _connect(path, "mode=rw")
        connection.execute("PRAGMA synchronous = FULL")
        return connection
    connection = _connect(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError:  # SQLite cannot make its shared memory in a read-only folder
        connection.close()
        waiting = path.with_name(f"{path.name}-wal")
        if waiting.exists() and waiting.stat().st_size:
            raise
        return _connect(path, "immutable=1")
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise InputError if the tables, indices and triggers are not exactly those of a journal."""
    found: list[Any] = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(sql for (sql,) in found) != sorted(_STATEMENTS):
        raise InputError(f"{str(path)!r} has other tables than a journal of tagsight: move it away")
