from pathlib import Path

import pytest

from tagsight.data.synonyms import load_synonyms
from tagsight.errors import InputError


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_chains_are_followed_to_their_end(tmp_path: Path) -> None:
    path = write(tmp_path, "s.csv", "from,to\nPony,Horse\nhorse,EQUINE\nfoal,pony\n")
    assert load_synonyms(path).objects == {"pony": "equine", "horse": "equine", "foal": "equine"}
    assert load_synonyms(path).attributes == load_synonyms(path).objects


def test_json_and_csv_give_the_same_synonyms(tmp_path: Path) -> None:
    as_object = write(tmp_path, "a.json", '{"Pony": "horse"}')
    as_list = write(tmp_path, "b.json", '[{"from": "pony", "to": "Horse"}]')
    as_csv = write(tmp_path, "c.csv", "to,from\nhorse,pony\n")
    assert load_synonyms(as_object) == load_synonyms(as_list) == load_synonyms(as_csv)


def test_kind_limits_a_line_to_nouns_or_adjectives(tmp_path: Path) -> None:
    path = write(tmp_path, "s.csv", "from,to,kind\norange,orange fruit,object\ngray,grey,Adjective\na,b,\n")
    synonyms = load_synonyms(path)
    assert synonyms.objects == {"orange": "orange fruit", "a": "b"}
    assert synonyms.attributes == {"gray": "grey", "a": "b"}


def test_a_word_mapped_to_itself_is_allowed(tmp_path: Path) -> None:
    assert load_synonyms(write(tmp_path, "s.csv", "from,to\nHorse,horse\n")).objects == {"horse": "horse"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("from,to\na,b\nb,c\nc,a\n", "circle \\(a -> b -> c -> a\\)"),
        ("from,to\na,b\na,c\n", "line 3: 'a' is mapped to 'c' and, before, to 'b'"),
        ("from,into\na,b\n", "columns from, into"),
        ("from,to\na, \n", "line 2: 'to' is ' '"),
        ("from,to,kind\na,b,verb\n", "kind 'verb' is none of object, noun"),
        ("from,to\na,b,c\n", "3 cells where the header has 2"),
        ("", "is empty"),
    ],
)
def test_bad_files_are_refused_with_the_reason(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_synonyms(write(tmp_path, "s.csv", content))


@pytest.mark.parametrize("content", ["[1]", "3", "{", '{"a": 1}'])
def test_bad_json_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"s\.json"):
        load_synonyms(write(tmp_path, "s.json", content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv.*No such file"):
        load_synonyms(tmp_path / "none.csv")
