"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from tagsight.errors import TagsightWarning, WriteError
from tagsight.storage.files import locate_cache, write_atomically


def test_content_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["file"]


def test_files_have_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"one")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match=r"cannot write .*file.*disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_cache_that_cannot_be_written_to_is_replaced_by_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert locate_cache() == tmp_path / "tagsight"
    (tmp_path / "tagsight").write_text("a file in its place")
    with pytest.warns(TagsightWarning, match="cannot be written to"):
        folder = locate_cache()
    assert folder.is_dir()
    assert locate_cache() == folder  # and of processes that this one starts
    assert os.environ["TAGSIGHT_CACHE"] == str(folder)
