"""Lists of queries: drawn once and stored as words, so that all methods get the same queries."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.jsonvalues import is_list, is_object, is_words
from tagsight.data.textfiles import read_json
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.storage.files import write_atomically
from tagsight_bench.evaluation.queries import Query, draw_queries
from tagsight_bench.evaluation.truth import Instances

COUNT = 300
SEED = 0
LISTS = {"pairs": 1, "triples": 2}  # attributes of a query


class QueryLists(NamedTuple):
    """The queries of a collection."""

    pairs: tuple[Query, ...]  # an object and an attribute
    triples: tuple[Query, ...]  # an object and two attributes


def draw_lists(truth: Sequence[Instances], *, count: int = COUNT, seed: int = SEED) -> QueryLists:
    """Random queries that fit at least one photo of the truth."""
    return QueryLists(*(tuple(draw_queries(truth, n, count=count, seed=seed)) for n in LISTS.values()))


def write_lists(path: Path, lists: QueryLists, vocabulary: Vocabulary) -> None:
    """Write the queries as words, one per line."""
    lines = {
        kind: ",\n".join(
            f"  {json.dumps([vocabulary.objects[o], [vocabulary.attributes[a] for a in attributes]])}"
            for o, attributes in queries
        )
        for kind, queries in lists._asdict().items()
    }
    body = ",\n".join(f' "{kind}": [\n{queries}\n ]' for kind, queries in lines.items())
    write_atomically(path, f'{{\n "seed": {SEED},\n{body}\n}}\n'.encode())


def read_lists(path: Path, vocabulary: Vocabulary) -> QueryLists:
    """Read the queries as columns of the vocabulary."""
    content: Any = read_json(path)
    if not is_object(content) or not all(is_list(content.get(kind)) for kind in LISTS):
        raise InputError(f"{str(path)!r} must be an object with the lists {' and '.join(LISTS)}")
    return QueryLists(*(tuple(_read_query(path, one, vocabulary) for one in content[kind]) for kind in LISTS))


def _read_query(path: Path, entry: Any, vocabulary: Vocabulary) -> Query:
    if not is_list(entry) or len(entry) != 2 or not is_words(entry[1]):
        raise InputError(f"{str(path)!r}: {entry!r} is not [object, [attributes]]")
    try:
        return Query(vocabulary.objects.index(entry[0]), tuple(map(vocabulary.attributes.index, entry[1])))
    except ValueError as error:
        raise InputError(f"{str(path)!r}: {entry!r} has a word that is not in the collection") from error
