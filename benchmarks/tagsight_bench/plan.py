"""The cells of a benchmark."""

from collections.abc import Sequence
from typing import NamedTuple

from tagsight.errors import InputError
from tagsight.features.extractor import FAMILIES
from tagsight_bench.collections import COLLECTIONS
from tagsight_bench.methods import ABLATIONS, METHODS, Entry, find_entry
from tagsight_bench.tables import Table

ABLATION = "ablations"  # not a table of its own: ABLATED tables of the ablated methods
ABLATED = ("annotation", "queries", "segmentation")


class Fit(NamedTuple):
    """One fit of one method; the cells are measured with it."""

    collection: str
    on: str  # test or validation
    part: str
    attributes: int
    features: str
    method: str
    seed: int


class Cell(NamedTuple):
    """One fit, scored for one table."""

    fit: Fit
    table: str


class Request(NamedTuple):
    """The arguments of the command; empty tables and methods mean all of them."""

    collection: str
    tables: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    features: str = "deep"
    n_seeds: int = 3
    on: str = "test"  # or "validation"


def plan_cells(request: Request) -> list[Cell]:
    """All requested cells; those of one fit are consecutive, and so are fits on the same photos."""
    _check(request)
    tables = COLLECTIONS[request.collection].tables
    cells: list[Cell] = []
    for name in request.tables or tuple(tables):
        for method in _choose_methods(request, name):
            entry = find_entry(method)
            for table in ABLATED if name == ABLATION else (name,):
                if table not in entry.tables:
                    continue
                sizes = choose_sizes(entry, tables["annotation" if name == ABLATION else table])
                cells += [
                    Cell(_make_fit(request, tables[table].part, size, method, seed), table)
                    for size in sizes
                    for seed in range(request.n_seeds)
                ]
    if not cells:
        raise InputError(_explain_nothing(request))
    return sorted(
        dict.fromkeys(cells), key=lambda cell: (cell.fit.part, cell.fit.attributes, cell.fit.method, cell.fit.seed)
    )


def _explain_nothing(request: Request) -> str:
    has = "; ".join(f"{method} is in {', '.join(sorted(find_entry(method).tables))}" for method in request.methods)
    return f"none of these methods is in {' or '.join(request.tables)} ({has}): choose another method or table"


def choose_sizes(entry: Entry, table: Table) -> tuple[int, ...]:
    """The sizes of the attribute sets with which a method is in a table."""
    return table.attributes if entry.joint else table.attributes[:1]


def _make_fit(request: Request, part: str, attributes: int, method: str, seed: int) -> Fit:
    return Fit(request.collection, request.on, part, attributes, request.features, method, seed)


def _choose_methods(request: Request, table: str) -> Sequence[str]:
    return request.methods or tuple(ABLATIONS if table == ABLATION else METHODS)


def _check(request: Request) -> None:
    _check_choice(request.collection, "collection", tuple(COLLECTIONS))
    tables = COLLECTIONS[request.collection].tables
    known = (*tables, ABLATION) if set(ABLATED) <= set(tables) else tuple(tables)
    for table in request.tables:
        _check_choice(table, f"table of {request.collection}", known)
    _check_choice(request.features, "kind of features", FAMILIES)
    _check_choice(request.on, "split to score on", ("test", "validation"))


def _check_choice(value: str, what: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"there is no {what} {value!r}; choose one of {', '.join(known)}")
