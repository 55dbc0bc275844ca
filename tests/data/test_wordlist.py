from pathlib import Path

import pytest

from tagsight.data.wordlist import load_wordlist, sort_words
from tagsight.errors import InputError


def test_json_and_csv_give_the_same_word_list(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("kind,word\nnoun,Horse\nattribute,furry\nobject,horse\n")
    (tmp_path / "w.json").write_text('{"objects": ["horse"], "attributes": ["Furry", " "]}')
    assert load_wordlist(tmp_path / "w.csv") == load_wordlist(tmp_path / "w.json")


def test_words_are_sorted_once_each(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("word,kind\nhorse,object\nfurry,attribute\n")
    words = sort_words(load_wordlist(tmp_path / "w.csv"), ["FURRY", "Horse", "horse ", "", "Italy 2019"])
    assert words == (("horse",), ("furry",), ("italy 2019",))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.csv", "word,kind\norange,noun\norange,adjective\n", "'orange' as an object and as an attribute"),
        ("w.csv", "word,kind\n", "holds no word"),
        ("w.csv", "word,kind\nhorse,thing\n", "line 2: kind 'thing'"),
        ("w.csv", "word\nhorse\n", "a word list has the columns word,kind"),
        ("w.csv", "word,kind\nhorse\n", "1 cells where the header has 2"),
        ("w.json", '{"nouns": ["horse"]}', '"objects": '),
        ("w.json", '{"objects": "horse"}', "'objects' must be a list of words"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_wordlist(tmp_path / name)
