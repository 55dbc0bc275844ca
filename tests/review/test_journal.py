"""The journal: its state is that of a model, it survives kills and several writers, and it refuses other files."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tagsight.errors import InputError
from tagsight.review import journal_file
from tagsight.review.journal import Journal, locate_journal, open_journal, read_current
from tagsight.review.records import LONGEST_WORD, Decision, Pair

AUTHORS = ["ann", "bob"]
DECISIONS = st.builds(
    Decision,
    photo=st.sampled_from(["a.jpg", "b/c.jpg"]),
    kind=st.sampled_from(["object", "attribute"]),
    word=st.sampled_from(["horse", "furry"]),
    state=st.sampled_from(["yes", "no", "unsay"]),
    source=st.sampled_from(["user", "suggestion", "import"]),
    model=st.none(),
    score=st.none(),
)
YES = Decision("a.jpg", "object", "horse", "yes")


def list_states(journal: Journal) -> dict[Pair, str | None]:
    return {entry.pair: entry.state for entry in journal.list_current()}


class Machine(RuleBasedStateMachine):
    """The oracle is a list of (author, action, decision, whether it stands)."""

    @initialize()
    def open(self) -> None:
        self.folder = TemporaryDirectory(prefix="tagsight-journal-")
        self.journal = open_journal(Path(self.folder.name) / "j.sqlite")
        self.rows: list[list[object]] = []
        self.actions = 0

    def teardown(self) -> None:
        self.journal.close()
        self.folder.cleanup()

    @rule(decisions=st.lists(DECISIONS, max_size=3), author=st.sampled_from(AUTHORS))
    def append(self, decisions: list[Decision], author: str) -> None:
        self.journal.append(decisions, author=author)
        self.actions += 1
        self.rows += [[author, self.actions, one, True] for one in decisions]

    @rule(author=st.sampled_from(AUTHORS))
    def undo(self, author: str) -> None:
        standing = [row for row in self.rows if row[0] == author and row[3]]
        undone = [row for row in standing if row[1] == standing[-1][1]]
        assert len(self.journal.undo(author=author)) == len(undone)
        for row in undone:
            row[3] = False

    @rule(author=st.sampled_from(AUTHORS))
    def withdraw_suggested(self, author: str) -> None:
        suggested = [row for row in self.rows if row[3] and row[2].source == "suggestion"]  # pyright: ignore[reportAttributeAccessIssue]
        assert len(self.journal.withdraw_suggested(author=author)) == len(suggested)
        for row in suggested:
            row[3] = False

    @rule()
    def reopen(self) -> None:
        self.journal.close()
        self.journal = open_journal(self.journal.path, create=False)

    @invariant()
    def the_state_is_that_of_the_last_standing_decision(self) -> None:
        states: dict[Pair, str] = {}
        for _, _, one, stands in self.rows:
            assert isinstance(one, Decision)
            if stands:
                states[Pair(one.photo, one.kind, one.word)] = one.state
        expected = {pair: state for pair, state in states.items() if state != "unsay"}
        assert list_states(self.journal) == expected
        paged: list[Pair] = []
        while page := self.journal.list_current(after=paged[-1] if paged else None, limit=1):
            paged += [entry.pair for entry in page]
        assert paged == sorted(expected)
        for photo in ("a.jpg", "b/c.jpg"):
            found = [entry.pair for entry in self.journal.find_current(photo)]
            assert found == [pair for pair in sorted(expected) if pair.photo == photo]


Machine.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestJournalAgainstAModel = Machine.TestCase


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with open_journal(locate_journal(tmp_path)) as opened:
        yield opened


def test_a_row_has_what_was_decided_and_by_whom(journal: Journal) -> None:
    decision = Decision("a.jpg", "object", " Horse ", "no", "suggestion", "f" * 64, 0.25)
    (entry,) = journal.append([decision], author="ann")
    assert entry == journal.list_current()[0]
    assert (entry.author, entry.photo, entry.kind, entry.word, entry.state) == ("ann", "a.jpg", "object", "horse", "no")
    assert (entry.source, entry.model, entry.score, entry.withdraws) == ("suggestion", "f" * 64, 0.25, None)
    assert entry.time.endswith("Z")


def test_the_history_of_a_pair_keeps_what_was_withdrawn(journal: Journal) -> None:
    (first,) = journal.append([YES], author="ann")
    journal.undo(author="ann")
    journal.append([YES._replace(state="no")], author="bob")
    history = journal.list_history(first.pair)
    assert [(entry.author, entry.state, entry.withdraws) for entry in history] == [
        ("ann", "yes", None),
        ("ann", None, first.id),
        ("bob", "no", None),
    ]
    assert [entry.id for entry in journal.list_since(first.id)] == [entry.id for entry in history[1:]]


def test_only_the_suggestions_of_one_model_are_withdrawn(journal: Journal) -> None:
    suggested = YES._replace(source="suggestion", model="m1")
    for one in (suggested, suggested._replace(photo="b.jpg", model="m2"), YES._replace(photo="c.jpg", model="m1")):
        journal.append([one], author="ann")
    assert [entry.photo for entry in journal.withdraw_suggested(author="ann", model="m1")] == ["a.jpg"]
    assert [entry.photo for entry in journal.list_current()] == ["b.jpg", "c.jpg"]


def test_rows_are_never_changed_or_removed(journal: Journal) -> None:
    journal.append([YES], author="ann")
    with sqlite3.connect(journal.path) as connection:
        for statement in ("DELETE FROM decisions", "UPDATE decisions SET state = 'no'"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(statement)
    connection.close()
    assert len(journal.list_current()) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (YES._replace(word="a\x1bb"), "control characters"),
        (YES._replace(word="a\u2028b"), "control characters"),
        (YES._replace(word="a" * (LONGEST_WORD + 1)), f"at most {LONGEST_WORD}"),
        (YES._replace(word="\ufdfa" * LONGEST_WORD), f"at most {LONGEST_WORD}"),  # longer once it is normalised
        (YES._replace(word="  "), "is empty"),
        (YES._replace(word="background"), "uses itself"),
        (YES._replace(word="Free-3"), "uses itself"),
        (YES._replace(photo="a\nb.jpg"), "control characters"),
        (YES._replace(photo="\udcff.jpg"), "control characters"),
        (YES._replace(photo="../a.jpg"), "not the path of a photo"),
        (YES._replace(photo="/a.jpg"), "not the path of a photo"),
        (YES._replace(photo="./a.jpg"), "not the path of a photo"),
        (YES._replace(photo=""), "not the path of a photo"),
        (YES._replace(state="maybe"), "choose one of yes, no, unsay"),
        (YES._replace(kind="noun"), "choose object or attribute"),
        (YES._replace(score=float("nan")), "between 0 and 1"),
    ],
)
def test_an_invalid_decision_is_refused_and_none_of_its_call_is_recorded(
    journal: Journal, wrong: Decision, message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        journal.append([YES, wrong], author="ann")
    assert "\n" not in str(error.value)
    assert journal.list_current() == []


@pytest.mark.parametrize("author", ["", " ", "a\nb", "a" * 300])
def test_an_invalid_author_is_refused(journal: Journal, author: str) -> None:
    with pytest.raises(InputError):
        journal.append([YES], author=author)


def test_a_missing_journal_has_no_decisions_and_is_not_made(tmp_path: Path) -> None:
    assert read_current(locate_journal(tmp_path)) == []
    with pytest.raises(InputError, match="there is no journal"):
        open_journal(locate_journal(tmp_path), create=False)
    assert list(tmp_path.iterdir()) == []


def make_foreign(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()


def test_other_files_are_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    ours, newer = f"PRAGMA application_id = {journal_file.APPLICATION};", journal_file.SCHEMA + 1
    contents = {
        "CREATE TABLE mine (a)": "is not a journal",
        f"{ours} PRAGMA user_version = {newer}; CREATE TABLE t (a)": "newer",
        f"{ours} PRAGMA user_version = 1; CREATE TABLE t (a)": "other tables",
    }
    for statements, message in contents.items():
        path.unlink(missing_ok=True)
        make_foreign(path, statements)
        before = path.read_bytes()
        for create in (True, False):
            with pytest.raises(InputError, match=message) as error:
                open_journal(path, create=create)
            assert "\n" not in str(error.value)
        assert path.read_bytes() == before
    path.write_text("notes")
    with pytest.raises(InputError, match="is not a journal"):
        open_journal(path)
    assert path.read_text() == "notes"


def test_a_link_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "link.sqlite", tmp_path):
        with pytest.raises(InputError, match=r"is a (link|folder)"):
            open_journal(path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_journal_with_an_added_trigger_is_refused(journal: Journal) -> None:
    make_foreign(journal.path, "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN SELECT 1; END")
    with pytest.raises(InputError, match="other tables"):
        open_journal(journal.path)


def test_a_damaged_journal_is_reported(journal: Journal) -> None:
    journal.append([YES._replace(photo=f"{n}.jpg") for n in range(500)], author="ann")
    journal.close()
    content = bytearray(journal.path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    journal.path.write_bytes(content)
    with pytest.raises(InputError, match="restore it from a backup"), open_journal(journal.path) as opened:
        opened.list_current()


def test_an_empty_file_left_by_a_killed_process_becomes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    path.touch()
    with open_journal(path) as opened:
        opened.append([YES], author="ann")
    assert [entry.photo for entry in read_current(path)] == ["a.jpg"]


def test_a_journal_in_a_read_only_folder_is_read_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "photos/j.sqlite"
    with open_journal(path) as opened:
        opened.append([YES], author="ann")
    monkeypatch.setattr(os, "access", lambda place, mode: mode & os.W_OK == 0)  # root may write everywhere
    with open_journal(path, create=False) as opened:
        assert len(opened.list_current()) == 1
        with pytest.raises(InputError, match="readonly"):
            opened.append([YES], author="ann")
    with pytest.raises(InputError, match="choose another place"):
        open_journal(path)


def test_a_full_disk_loses_nothing_and_writing_goes_on_afterwards(journal: Journal) -> None:
    journal.append([YES], author="ann")
    (most,) = journal._connection.execute("PRAGMA max_page_count").fetchone()
    journal._connection.execute("PRAGMA max_page_count = 1")  # as many as there are
    many = [YES._replace(photo=f"{n}.jpg") for n in range(2000)]
    with pytest.raises(InputError, match="free some space") as error:
        journal.append(many, author="ann")
    assert "\n" not in str(error.value)
    assert [entry.photo for entry in journal.list_current()] == ["a.jpg"]
    journal._connection.execute(f"PRAGMA max_page_count = {most}")
    journal.append(many, author="ann")
    assert len(journal.list_current()) == 2001


def test_threads_share_a_journal(journal: Journal) -> None:
    def write(author: str) -> None:
        for n in range(20):
            journal.append([YES._replace(photo=f"{author}{n}.jpg")], author=author)

    threads = [threading.Thread(target=write, args=(f"author{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.list_current()) == 80
    assert len({entry.id for entry in journal.list_current()}) == 80


WRITER = """
import sys
from pathlib import Path
from tagsight.review.journal import open_journal
from tagsight.review.records import Decision
path, author, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with open_journal(path) as journal:
    for number in range(n):
        journal.append([Decision(f"{author}{number}.jpg", "object", "horse", "yes")], author=author)
        print(number, flush=True)
"""


def start_writer(path: Path, author: str, n: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), author, str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_several_processes_create_and_write_one_journal(tmp_path: Path) -> None:
    path = locate_journal(tmp_path)
    writers = [start_writer(path, f"author{n}", 25) for n in range(3)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert len(read_current(path)) == 75
    assert sorted(os.listdir(path.parent)) == ["decisions.sqlite"]


@pytest.mark.slow
def test_every_acknowledged_decision_survives_a_kill(tmp_path: Path) -> None:
    path = locate_journal(tmp_path)
    acknowledged: set[str] = set()
    for run in range(8):
        writer = start_writer(path, f"run{run}-", 10_000)
        assert writer.stdout is not None
        for line in writer.stdout:
            acknowledged.add(f"run{run}-{int(line)}.jpg")
            if len(acknowledged) % 7 == run % 7:
                writer.send_signal(signal.SIGKILL)
                break
        acknowledged |= {f"run{run}-{int(line)}.jpg" for line in writer.stdout if line.endswith("\n")}
        writer.stdout.close()
        assert writer.wait() == -signal.SIGKILL
        assert acknowledged <= {entry.photo for entry in read_current(path)}
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
    assert len(acknowledged) > 8
    with open_journal(path) as journal:
        journal.append([YES], author="ann")
        assert "a.jpg" in {entry.photo for entry in journal.list_current()}


def test_a_page_of_a_large_journal_is_read_by_its_indices(journal: Journal) -> None:
    """No query of the journal scans the whole table or sorts it."""
    queries: list[str] = []
    journal._connection.set_trace_callback(queries.append)
    (entry,) = journal.append([YES], author="ann")
    journal.list_current(after=entry.pair, limit=10)
    journal.find_current("a.jpg")
    journal.list_history(entry.pair)
    journal.list_since(0)
    journal.undo(author="ann")
    journal._connection.set_trace_callback(None)
    selects = [query for query in queries if query.startswith("SELECT") and "FROM decisions" in query]
    assert len(selects) >= 7
    for query in selects:
        for step in journal._connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall():
            assert step[3].startswith(("SEARCH", "CORRELATED")) or "USING COVERING INDEX" in step[3], (query, step)
