"""Synonyms: a file of the user that renames tags when they are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.jsonvalues import is_list, is_object
from tagsight.data.textfiles import Record, read_csv, read_json
from tagsight.data.vocabulary import KINDS, normalise_tag
from tagsight.errors import InputError


class Synonyms(NamedTuple):
    """For each kind, a mapping from tags to the tags that replace them, with chains resolved."""

    objects: Mapping[str, str]
    attributes: Mapping[str, str]


NO_SYNONYMS = Synonyms({}, {})


def load_synonyms(path: Path) -> Synonyms:
    """Read a mapping of tags to tags.

    CSV has the columns ``from,to`` and, for mappings of nouns or adjectives only, ``kind``. JSON is an object
    ``{from: to}``, or a list of objects with the keys of the CSV. A chain of mappings is followed to its end.
    """
    renamed: dict[str, dict[str, str]] = {"object": {}, "attribute": {}}
    for where, values in _read_pairs(path):
        source, target = (_read_tag(path, where, values, key) for key in ("from", "to"))
        for kind in _read_kinds(path, where, values):
            earlier = renamed[kind].setdefault(source, target)
            if earlier != target:
                raise InputError(
                    f"{str(path)!r}, {where}: {source!r} is mapped to {target!r} and, before, to {earlier!r}: keep one"
                )
    return Synonyms(_follow_chains(path, renamed["object"]), _follow_chains(path, renamed["attribute"]))


def _read_pairs(path: Path) -> tuple[Record, ...]:
    if path.suffix.lower() == ".json":
        return _read_json_pairs(path)
    table = read_csv(path)
    if not {"from", "to"} <= set(table.columns) <= {"from", "to", "kind"}:
        raise InputError(
            f"{str(path)!r} has the columns {', '.join(table.columns)}: a synonyms file has the "
            "columns from,to and, optionally, kind"
        )
    if table.faults:
        fault = table.faults[0]
        raise InputError(f"{str(path)!r}, {fault.where}: {fault.reason}: correct that line")
    return table.records


def _read_json_pairs(path: Path) -> tuple[Record, ...]:
    content: Any = read_json(path)
    if is_object(content):
        content = [{"from": source, "to": target} for source, target in content.items()]
    if not is_list(content) or not all(is_object(pair) for pair in content):
        raise InputError(f'{str(path)!r} must hold {{"from": "to"}} or [{{"from": ..., "to": ...}}]')
    return tuple(Record(f"entry {number}", pair) for number, pair in enumerate(content, start=1))


def _read_tag(path: Path, where: str, values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    tag = normalise_tag(value) if isinstance(value, str) else ""
    if not tag:
        raise InputError(f"{str(path)!r}, {where}: {key!r} is {value!r}: write a tag there")
    return tag


def _read_kinds(path: Path, where: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    value = str(values.get("kind") or "").strip().casefold()
    if not value:
        return ("object", "attribute")
    if value not in KINDS:
        raise InputError(f"{str(path)!r}, {where}: kind {value!r} is none of {', '.join(KINDS)}")
    return (KINDS[value],)


def _follow_chains(path: Path, renamed: Mapping[str, str]) -> dict[str, str]:
    resolved: dict[str, str] = {}
    for source in renamed:
        chain = [source]
        while (target := renamed.get(chain[-1], chain[-1])) != chain[-1]:
            if target in chain:
                raise InputError(
                    f"{str(path)!r} maps in a circle ({' -> '.join([*chain, target])}): remove one of the lines"
                )
            chain.append(target)
        resolved[source] = chain[-1]
    return resolved
