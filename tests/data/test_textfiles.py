from pathlib import Path

import pytest

from tagsight.data.textfiles import Fault, Record, read_csv, read_json, read_jsonl
from tagsight.errors import InputError


def write(folder: Path, content: bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_mark_do_not_matter(tmp_path: Path, end: str, mark: bytes) -> None:
    path = write(tmp_path, mark + f' A ,b{end}{end}1,"x, ""y"""{end},{end}'.encode())
    table = read_csv(path)
    assert table.columns == ("a", "b")
    assert [record.values for record in table.records] == [{"a": "1", "b": 'x, "y"'}]
    assert table.faults == ()


def test_a_cell_may_hold_a_newline(tmp_path: Path) -> None:
    table = read_csv(write(tmp_path, b'a,b\n"one\ntwo",2\n3,4\n'))
    assert table.records == (
        Record("line 2", {"a": "one\ntwo", "b": "2"}),
        Record("line 4", {"a": "3", "b": "4"}),
    )


def test_bad_lines_are_returned_as_faults_and_the_others_read(tmp_path: Path) -> None:
    table = read_csv(write(tmp_path, b'a,b\n1\n1,2,3\n"x"y,2\n5,6\n'))
    assert [fault.where for fault in table.faults] == ["line 2", "line 3", "line 4"]
    assert table.faults[0] == Fault("line 2", "1 cells where the header has 2")
    assert [record.values for record in table.records] == [{"a": "5", "b": "6"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'a,b\n1,2\n"3,4\n5,6\n', "a quote opened on line 3 is never closed"),
        (b"a,b\ncaf\xe9,1\n", "not UTF-8 text \\(byte 0xE9 on line 2\\): save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "not UTF-8 text"),
        (b"a,A\n1,2\n", "names a column twice"),
        (b"\n , \n", "is empty"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_csv(write(tmp_path, content))


def test_jsonl_keeps_good_lines(tmp_path: Path) -> None:
    lines = ['{"a": "\u2028"}', "", "{", "[1]", "[" * 100_000, '{"b": 1}\r']
    table = read_jsonl(write(tmp_path, "\n".join(lines).encode()))
    assert table.columns == ("a", "b")
    assert [record.where for record in table.records] == ["line 1", "line 6"]
    assert [fault.where for fault in table.faults] == ["line 3", "line 4", "line 5"]


@pytest.mark.parametrize("content", [b"{", b"[" * 100_000, b""])
def test_bad_json_is_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"table\.csv' is not valid JSON"):
        read_json(write(tmp_path, content))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        read_csv(tmp_path)
