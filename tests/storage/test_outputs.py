"""Files that tagsight did not write are never changed, whatever the output path."""

import os
from pathlib import Path

import pytest

from tagsight.engine.checkpoint import open_checkpoint, remove_checkpoint
from tagsight.errors import InputError
from tagsight.runtime.interrupts import Stop
from tagsight.storage.files import name_partial, write_atomically
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import (
    RECORD,
    SharedFolder,
    check_folder,
    check_output_file,
    claim_folder,
    is_model,
    is_page,
)


def list_contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_or_empty_folder_is_claimed_and_claimed_again(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "deep/new", tmp_path / "empty"):
        check_folder(folder, "index")
        assert not folder.exists() or not os.listdir(folder), "a check writes nothing"
        claim_folder(folder, "index")
        claimed = list_contents(folder)
        assert claimed, "the folder is marked"
        (folder / "something").write_text("ours")
        claim_folder(folder, "index")
        assert list_contents(folder) == claimed | {"something": b"ours"}


def test_partial_files_and_system_files_do_not_make_a_folder_foreign(tmp_path: Path) -> None:
    name_partial(tmp_path).write_text("half")
    (tmp_path / ".DS_Store").write_text("")
    claim_folder(tmp_path, "index")


def test_a_folder_with_other_files_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"holds 'letter.txt', which tagsight did not write: choose a new or an empty"):
        claim_folder(tmp_path, "index")
    assert list_contents(tmp_path) == {"letter.txt": b"dear"}


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    claim_folder(tmp_path, "tagsight demo")
    with pytest.raises(InputError, match="is a tagsight demo: choose"):
        claim_folder(tmp_path, "tagsight index")


def test_a_folder_without_a_marker_is_recognised_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    claim_folder(tmp_path, "index", lambda folder: (folder / "manifest.json").exists())


@pytest.mark.parametrize("make", [check_folder, lambda folder, kind: SharedFolder(folder).check([])])
def test_a_file_in_the_place_of_a_folder_is_refused(make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(InputError, match=r"is a file: give the name of a folder|is not a folder"):
            make(place, "index")


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # as it is for all but root
    with pytest.raises(InputError, match="no permission to write"):
        check_folder(tmp_path / "new", "index")


@pytest.mark.parametrize(("kind", "is_ours"), [("a tagsight model", is_model), ("a page of tagsight", is_page)])
def test_a_file_of_another_kind_is_not_replaced(kind: str, is_ours, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff" * 100)
    with pytest.raises(InputError, match=f"is there already and is not {kind}: remove it, or choose another name"):
        check_output_file(tmp_path / "photo.jpg", kind, is_ours)
    with pytest.raises(InputError, match="is a folder: give the name of a file"):
        check_output_file(tmp_path, kind, is_ours)
    (tmp_path / "empty").touch()
    check_output_file(tmp_path / "empty", kind, is_ours)
    check_output_file(tmp_path / "new/file", kind, is_ours)


def test_a_shared_folder_replaces_what_it_wrote_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine.png").write_text("mine")
    folder = SharedFolder(tmp_path)
    folder.write("sub/a.png", b"one")
    folder.write("sub/a.png", b"two")
    again = SharedFolder(tmp_path)
    again.check(["sub/a.png", "new.png"])
    again.write("sub/a.png", b"three")
    with pytest.raises(InputError, match=r"'.*mine.png' is there already and not as tagsight wrote it"):
        again.write("mine.png", b"mask")
    (tmp_path / "sub/a.png").write_text("corrected by hand")
    with pytest.raises(InputError, match="not as tagsight wrote it"):
        SharedFolder(tmp_path).check(["sub/a.png"])
    (tmp_path / "link.png").symlink_to(tmp_path / "mine.png")
    with pytest.raises(InputError, match="not as tagsight wrote it"):
        again.write("link.png", b"mask")
    assert (tmp_path / "mine.png").read_text() == "mine"


def test_an_input_is_never_written_over_even_if_tagsight_made_it(tmp_path: Path) -> None:
    SharedFolder(tmp_path).write("a.png", b"one")
    (tmp_path / "way").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is one of the photos given"):
        SharedFolder(tmp_path, [tmp_path / "way/a.png"]).check(["a.png"])


def test_a_truncated_record_is_still_read(tmp_path: Path) -> None:
    SharedFolder(tmp_path).write("a.png", b"one")
    with (tmp_path / RECORD).open("ab") as file:
        file.write(b'\n{"file": "b.p')
    SharedFolder(tmp_path).write("c.png", b"three")
    SharedFolder(tmp_path).check(["a.png", "c.png"])


def test_a_file_recorded_but_not_written_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = SharedFolder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("tagsight.storage.outputs.write_atomically", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            folder.write("a.png", b"one")
    assert SharedFolder(tmp_path).write("a.png", b"one").read_bytes() == b"one"


def test_a_lock_file_with_content_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "my.model.lock").write_text("mine")
    with hold_lock(tmp_path / "my.model.lock", wait=False, remove=True):
        pass
    assert (tmp_path / "my.model.lock").read_text() == "mine"


def test_a_folder_that_resembles_a_checkpoint_stays(tmp_path: Path) -> None:
    folder = tmp_path / "my.model.checkpoint"
    for name in ("results/a.csv", "fits/b.csv", "work/c.csv"):
        write_atomically(folder / name, b"mine")
    before = list_contents(tmp_path)
    remove_checkpoint(folder)
    with pytest.raises(InputError, match="which tagsight did not write"):
        open_checkpoint(folder, {"seed": 0}, resume=False, stop=Stop())
    assert list_contents(tmp_path) == before


@pytest.mark.parametrize("header", ['{"identity": "my passport"}', '"identity"', '{"schema": 1, "identity": 2}'])
def test_a_foreign_header_is_not_one_of_a_checkpoint(tmp_path: Path, header: str) -> None:
    folder = tmp_path / "my.model.checkpoint"
    write_atomically(folder / "results/r.json", b"mine")
    write_atomically(folder / "header.json", header.encode())
    before = list_contents(tmp_path)
    remove_checkpoint(folder)
    with pytest.raises(InputError, match="which tagsight did not write"):
        open_checkpoint(folder, {"seed": 0}, resume=False, stop=Stop())
    assert list_contents(tmp_path) == before


def test_a_lock_is_never_a_link(tmp_path: Path) -> None:
    (tmp_path / "my.model.lock").symlink_to(tmp_path / "new")
    with pytest.raises(InputError, match="cannot write"), hold_lock(tmp_path / "my.model.lock", wait=False):
        pass
    assert (tmp_path / "my.model.lock").is_symlink()
    assert not (tmp_path / "new").exists()


def test_removing_a_checkpoint_keeps_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "my.model.checkpoint"
    open_checkpoint(folder, {"seed": 0}, resume=False, stop=Stop()).save_result("a", 1)
    (folder / "notes.txt").write_text("mine")
    remove_checkpoint(folder)
    assert list_contents(tmp_path) == {"my.model.checkpoint/notes.txt": b"mine"}
    (folder / "notes.txt").unlink()
    open_checkpoint(folder, {"seed": 0}, resume=False, stop=Stop())
    remove_checkpoint(folder)
    assert not folder.exists()
