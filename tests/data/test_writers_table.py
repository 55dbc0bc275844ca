"""Tags files: only cells that change are rewritten, checked with the csv and json modules on random files."""

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_folder import Make

from tagsight.data.readers import open_collection
from tagsight.data.readers.folder import READER
from tagsight.data.readers.reader import Options
from tagsight.data.tag_changes import TagChange
from tagsight.data.vocabulary import normalise_tag
from tagsight.data.writers.table import TableChange, plan_table_change
from tagsight.errors import InputError
from tagsight.storage.edits import format_diff, write_change

PHOTOS = ("a.jpg", "sub/b.jpg", 'c, "d".jpg', "line\nbreak.jpg", "émoji 🐎.jpg", "unlisted.jpg")
NOUNS = ("horse", "Dog ", " café", '5" pipe', "🐎", "", " ")
ADJECTIVES = ("furry", "rot-weiß", "Big")
KINDS: dict[Literal["object", "attribute"], tuple[str, ...]] = {
    "object": ("Horse", "dog", "café", '5" pipe', "new noun"),
    "attribute": ("furry", "big", "new"),
}

changes = st.lists(
    st.sampled_from(list(KINDS)).flatmap(
        lambda kind: st.builds(
            TagChange,
            st.sampled_from([*PHOTOS, "./a.jpg"]),
            st.sampled_from(KINDS[kind]),
            st.just(kind),
            st.booleans(),
        )
    ),
    max_size=6,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    (root / "sub").mkdir()
    for photo in PHOTOS:
        (root / photo).touch()
    return root


def quote(draw: st.DrawFn, value: str) -> str:
    needed = value.startswith('"') or any(one in value for one in ",\r\n")
    if needed or draw(st.booleans()):
        return '"{}"'.format(value.replace('"', '""'))
    return value


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A `tags.csv` with unknown columns, remarks, blank lines, and quotes and line ends that differ from row to row."""
    columns = draw(st.permutations(["image", "objects", "Attributes ", "note", "é"]))
    ends = st.sampled_from(draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]])))
    lists = {"objects": NOUNS, "Attributes ": ADJECTIVES}
    lines = [",".join(quote(draw, name) for name in columns)]
    photos = draw(st.lists(st.sampled_from(PHOTOS[:-1]), max_size=5))
    for photo in photos:
        if draw(st.integers(0, 3)) == 0:
            lines.append(draw(st.sampled_from(["# a remark", "", "  ", "#,x", '"a ""remark""\n of two lines"'])))
        values = {"image": photo, "note": draw(st.text("ab,;\n\"'é ", max_size=6)), "é": "="}
        values |= {
            name: draw(st.sampled_from([";", "; "])).join(draw(st.lists(st.sampled_from(words), max_size=3)))
            for name, words in lists.items()
        }
        lines.append(",".join(quote(draw, values[name]) for name in columns))
    text = draw(st.sampled_from(["", "\ufeff"])) + "".join(line + draw(ends) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def split_records(text: str) -> list[tuple[str, list[str]]]:
    """The text of each record and its cells, by the csv module."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    records: list[tuple[str, list[str]]] = []
    place = 0
    for cells in reader:
        records.append(("".join(lines[place : reader.line_num]), cells))
        place = reader.line_num
    return records


def read_tags(source: Path) -> dict[str, dict[str, set[str]]]:
    """The tags of the photos that a file lists, as the reader of collections finds them."""
    found: dict[str, dict[str, set[str]]] = {}
    for row in READER.read(source, Options()).rows:
        tags = found.setdefault(row.image, {"object": set(), "attribute": set()})
        tags["object"] |= {normalise_tag(word) for word in row.objects} - {""}
        tags["attribute"] |= {normalise_tag(word) for word in row.attributes} - {""}
    return found


def expect_tags(before: dict[str, dict[str, set[str]]], made: Iterable[TagChange]) -> dict[str, dict[str, set[str]]]:
    """The tags after the changes, by their definition; photos without a tag need not be listed."""
    after = {photo: {kind: set(words) for kind, words in tags.items()} for photo, tags in before.items()}
    for change in made:
        tags = after.setdefault(change.photo.removeprefix("./"), {"object": set(), "attribute": set()})
        (tags[change.kind].add if change.present else tags[change.kind].discard)(normalise_tag(change.word))
    return {photo: tags for photo, tags in after.items() if any(tags.values()) or photo in before}


def apply(source: Path, made: Iterable[TagChange]) -> TableChange:
    planned = plan_table_change(source, list(made))
    if planned.file.edits:
        write_change(planned.file)
    return planned


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(tables(), changes)
def test_only_changed_cells_of_a_csv_are_rewritten(folder: Path, text: str, made: list[TagChange]) -> None:
    source = folder / "tags.csv"
    source.write_text(text, encoding="utf-8", newline="")
    tags = read_tags(source)
    planned = apply(source, made)
    assert planned.problems == ()
    after = source.read_bytes().decode()
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert read_tags(source) == expect_tags(tags, made)
    old, new = split_records(text), split_records(after)
    columns = [name.strip().casefold() for name in old[0][1]]
    touched = {change.photo.removeprefix("./") for change in made}
    for (raw, cells), (new_raw, new_cells) in zip(old, new, strict=False):
        photo = cells[columns.index("image")] if len(cells) == len(columns) else ""
        if photo in touched:
            kept = [n for n, name in enumerate(columns) if name not in ("objects", "attributes")]
            assert [cells[n] for n in kept] == [new_cells[n] for n in kept]
        else:
            assert new_raw.rstrip("\r\n") == raw.rstrip("\r\n")
            assert new_raw == raw or (raw, cells) == old[-1]
    added = [dict(zip(columns, cells, strict=True)) for _, cells in new[len(old) :]]
    assert {row["image"] for row in added} == read_tags(source).keys() - tags.keys()
    assert all(row["note"] == row["é"] == "" for row in added)
    assert text.endswith(("\n", "\r")) == after.endswith(("\n", "\r"))
    assert plan_table_change(source, made).file.edits == ()


@st.composite
def json_tables(draw: st.DrawFn) -> str:
    """A `tags.jsonl` with unknown keys, missing keys, and spaces that differ from row to row."""
    lines: list[str] = []
    for photo in draw(st.lists(st.sampled_from(PHOTOS[:-1]), max_size=4)):
        words: Any = draw(st.lists(st.sampled_from([word for word in NOUNS if word.strip()]), max_size=3))
        values: dict[str, Any] = {
            "image": photo,
            "objects": draw(st.sampled_from([words, ";".join(words), None])),
            "attributes": draw(st.lists(st.sampled_from(ADJECTIVES), max_size=2)),
            "note": draw(st.sampled_from([{"objects": ["horse"], "x": [1.50, None]}, '\\"}', 1e3])),
        }
        keys = [key for key in draw(st.permutations(list(values))) if key != "attributes" or draw(st.booleans())]
        separators = draw(st.sampled_from([(", ", ": "), (",", ":"), (" , ", " :\t")]))
        line = json.dumps({key: values[key] for key in keys}, ensure_ascii=draw(st.booleans()), separators=separators)
        lines += [*draw(st.sampled_from([[], [""], ["{broken"]])), draw(st.sampled_from(["", " "])) + line]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + "".join(line + end for line in lines)
    return text if draw(st.booleans()) else text.removesuffix(end)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(json_tables(), changes)
def test_only_changed_lists_of_json_lines_are_rewritten(folder: Path, text: str, made: list[TagChange]) -> None:
    source = folder / "tags.jsonl"
    source.write_text(text, encoding="utf-8", newline="")
    tags = read_tags(source)
    planned = apply(source, made)
    assert planned.problems == ()
    after = source.read_bytes().decode()
    assert read_tags(source) == expect_tags(tags, made)
    touched = {change.photo.removeprefix("./") for change in made}
    bodies = [one.removeprefix("\ufeff").split("\n") for one in (text, after)]
    for line, new_line in zip(*bodies, strict=False):
        if not line.strip() or line == "{broken\r" or line == "{broken":
            assert new_line == line or line == bodies[0][-1]
            continue
        old, new = json.loads(line), json.loads(new_line)
        assert list(new)[: len(old)] == list(old)
        assert {key: new[key] for key in ("image", "note")} == {key: old[key] for key in ("image", "note")}
        if old["image"] not in touched:
            assert new_line.rstrip("\r") == line.rstrip("\r")
    assert plan_table_change(source, made).file.edits == ()


def change(photo: str, word: str, present: bool = True, kind: Literal["object", "attribute"] = "object") -> TagChange:
    return TagChange(photo, word, kind, present)


@pytest.mark.parametrize(
    ("text", "made", "expected"),
    [
        ("image,objects\na.jpg,cat\n", [change("a.jpg", "dog")], "image,objects\na.jpg,cat;dog\n"),
        ("image,objects\na.jpg,cat; cow\n", [change("a.jpg", "dog")], "image,objects\na.jpg,cat; cow; dog\n"),
        ("image,objects\na.jpg,cat; cow\n", [change("a.jpg", "cat", False)], "image,objects\na.jpg,cow\n"),
        ("image,objects\na.jpg,\n", [change("a.jpg", "dog")], "image,objects\na.jpg,dog\n"),
        ('image,objects\na.jpg,"cat"\n', [change("a.jpg", "dog")], 'image,objects\na.jpg,"cat;dog"\n'),
        ('"image","objects"\n"a.jpg","x"\n', [change("b.jpg", "x")], '"image","objects"\n"a.jpg","x"\n"b.jpg","x"\n'),
        ("image,objects\r\na.jpg,Cat", [change("b.jpg", "cat")], "image,objects\r\na.jpg,Cat\r\nb.jpg,Cat"),
        ("image,objects\na.jpg,x\na.jpg,x;y\n", [change("a.jpg", "x", False)], "image,objects\na.jpg,\na.jpg,y\n"),
        ("image,objects\na.jpg,x\na.jpg,y\n", [change("a.jpg", "z")], "image,objects\na.jpg,x;z\na.jpg,y\n"),
        ("image,objects\na.jpg,x\n", [change("a.jpg", "y"), change("a.jpg", "Y", False)], None),
        ("image,objects\na.jpg,x\n", [change("a.jpg", "furry", False, "attribute")], None),
    ],
)
def test_the_style_of_the_file_is_kept(make_folder: Make, text: str, made: list[TagChange], expected: str) -> None:
    source = make_folder(("a.jpg", "b.jpg"), tags_DOT_csv=text.encode()) / "tags.csv"
    assert apply(source, made).problems == ()
    assert source.read_bytes().decode() == (expected or text)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (change("missing.jpg", "cat"), "no such photo"),
        (change("../a.jpg", "cat"), "leads out of"),
        (change("/etc/passwd", "cat"), "absolute path"),
        (change("\udcff.jpg", "cat"), "not valid Unicode"),
        (change("a.jpg", "cat;dog"), "separates tags"),
        (change("a.jpg", "cat|dog"), "separates tags"),
        (change("a.jpg", "\x1b"), "has no letters"),
        (change("a.jpg", "a\ue000b"), "characters that no tag may have"),
        (change("a.jpg", "background"), "uses this name itself"),
        (change("a.jpg", "furry", kind="attribute"), "no column 'attributes'"),
        (change("a.jpg", "cow", kind="attribute"), "is an object in this collection"),
        (change("b.jpg", "cat"), "line 3: 3 cells where the header has 2: correct that line first"),
        (change("c.jpg", "cat"), "line 4: 'objects' is 'a,b'"),
    ],
)
def test_a_change_that_cannot_be_made_is_a_problem_and_the_others_are_made(
    make_folder: Make, made: TagChange, reason: str
) -> None:
    text = 'image,objects\na.jpg,cow\nb.jpg,x,y\nc.jpg,"a,b"\n'
    root = make_folder(("a.jpg", "b.jpg", "c.jpg"), tags_DOT_csv=text)
    planned = apply(root, [made, change("a.jpg", "good")])
    (problem,) = planned.problems
    assert reason in problem.reason
    assert (root / "tags.csv").read_text() == text.replace("a.jpg,cow", "a.jpg,cow;good")


def test_a_photo_folder_without_tags_gets_a_file(make_folder: Make) -> None:
    root = make_folder(("a, b.jpg", "c.jpg"))
    made = [change("a, b.jpg", "cat"), change("a, b.jpg", "big", kind="attribute"), change("c.jpg", "cat", False)]
    apply(root, made)
    assert (root / "tags.csv").read_text() == 'image,objects,attributes\n"a, b.jpg",cat,big\n'
    assert open_collection(root).vocabulary == (("cat",), ("big",))


def test_a_collection_of_another_format_is_refused(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), metadata_DOT_csv="file_name,objects\na.jpg,dog\n")
    with pytest.raises(InputError, match="of the format imagefolder, which is not written"):
        plan_table_change(root, [change("a.jpg", "cat")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"image,objects\na.jpg,caf\xe9\n", "is not in UTF-8: save it as UTF-8"),
        (b"photo,objects\n", "it must have image,objects"),
        (b'image,objects\na.jpg,"x\n', "never closed"),
        (b"", "is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(make_folder: Make, content: bytes, message: str) -> None:
    root = make_folder(("a.jpg",), tags_DOT_csv=content)
    with pytest.raises(InputError, match=message):
        plan_table_change(root, [change("a.jpg", "cat")])
    assert (root / "tags.csv").read_bytes() == content


def test_a_link_is_refused(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), other_DOT_csv="image,objects\n")
    (root / "tags.csv").symlink_to("other.csv")
    with pytest.raises(InputError, match=r"tags\.csv' is a link"):
        plan_table_change(root, [change("a.jpg", "cat")])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(tables(), changes)
def test_the_diff_turns_the_old_text_into_the_new(folder: Path, text: str, made: list[TagChange]) -> None:
    (folder / "tags.csv").write_text(text, encoding="utf-8", newline="")
    planned = plan_table_change(folder / "tags.csv", made).file
    old, new = (show(one) for one in (text, planned.after.decode()))
    lines = list(format_diff(planned, "tags.csv"))
    assert patch(old, lines) == new
    assert bool(lines) == bool(planned.edits)


def show(text: str) -> list[str]:
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    return [line.rstrip("\r\n") for line in lines]


def patch(old: list[str], diff: list[str]) -> list[str]:
    """The lines after a unified diff, whose context and removed lines must be those of `old`."""
    new, place = [], 0
    for line in diff[2:]:
        if line.startswith("@@"):
            start, length = map(int, line.split()[1][1:].split(","))
            first = start - (length > 0)
            new += old[place:first]
            place = first
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[place] == line[1:]
            new += [line[1:]] * (line[0] == " ")
            place += 1
    return new + old[place:]
