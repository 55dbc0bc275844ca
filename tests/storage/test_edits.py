"""Edits of files: the rest is kept, other programs' changes are noticed, and backups are never replaced."""

import os
from pathlib import Path

import pytest

from tagsight.errors import InputError
from tagsight.storage.edits import Edit, FileChange, apply_edits, format_diff, write_change


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tags.csv"
    path.write_bytes(b"one\r\ntwo\n")
    return path


def change(file: Path) -> FileChange:
    return FileChange(file, "one\r\ntwo\n", (Edit(5, 8, "2"), Edit(0, 0, "\u00e9")))


def test_edits_are_applied_to_the_places_of_the_text_before() -> None:
    assert apply_edits("abcdef", (Edit(4, 6, "Z"), Edit(0, 1, ""), Edit(2, 2, "xy"))) == "bxycdZ"


def test_a_change_is_written_with_the_permissions_of_the_file(file: Path) -> None:
    file.chmod(0o604)
    assert write_change(change(file)) is None
    assert file.read_bytes() == "\u00e9one\r\n2\n".encode()
    assert file.stat().st_mode & 0o777 == 0o604
    assert os.listdir(file.parent) == ["tags.csv"]


def test_backups_are_numbered_and_never_replaced(file: Path) -> None:
    (file.parent / "tags.csv.bak").write_text("mine")
    saved = []
    for _ in range(2):
        before = file.read_bytes()
        saved.append(write_change(FileChange(file, before.decode(), (Edit(0, 0, "x"),)), backup=True))
        assert saved[-1] is not None
        assert saved[-1].read_bytes() == before
    assert [path.name for path in saved if path] == ["tags.csv.bak.1", "tags.csv.bak.2"]
    assert (file.parent / "tags.csv.bak").read_text() == "mine"


@pytest.mark.parametrize("content", [b"one\ntwo\n", b"", None])
def test_a_file_that_changed_meanwhile_is_kept(file: Path, content: bytes | None) -> None:
    made = change(file)
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(InputError):
        write_change(made, backup=True)
    assert os.listdir(file.parent) == ([] if content is None else ["tags.csv"])
    assert content is None or file.read_bytes() == content


def test_a_new_file_does_not_replace_one_that_appeared_meanwhile(file: Path) -> None:
    with pytest.raises(InputError, match="was changed by another program after it was read"):
        write_change(FileChange(file, None, (Edit(0, 0, "new"),)))
    assert file.read_bytes() == b"one\r\ntwo\n"


def test_a_file_that_became_a_link_is_not_replaced(file: Path) -> None:
    file.rename(file.with_name("other"))
    file.symlink_to("other")
    with pytest.raises(InputError, match="is a link"):
        write_change(change(file))
    assert file.is_symlink()


def test_the_diff_has_context_and_escapes_control_characters() -> None:
    before = "".join(f"{n}\n" for n in range(20)) + "\x1b[2J"
    made = FileChange(Path("a"), before, (Edit(20, 22, "ten"), Edit(len(before), len(before), "\nend")))
    assert list(format_diff(made, "a\x1b")) == [
        "--- a\\x1b", "+++ a\\x1b",
        "@@ -8,7 +8,7 @@", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13",
        "@@ -18,4 +18,5 @@", " 17", " 18", " 19", "-\\x1b[2J", "+\\x1b[2J", "+end",
    ]  # fmt: skip


def test_the_diff_of_a_new_file_has_all_its_lines() -> None:
    made = FileChange(Path("a"), None, (Edit(0, 0, "x\ny\n"),))
    assert list(format_diff(made, "a")) == ["--- /dev/null", "+++ a", "@@ -0,0 +1,2 @@", "+x", "+y"]
    assert list(format_diff(FileChange(Path("a"), "x", ()), "a")) == []
