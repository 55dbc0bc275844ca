"""Cells on disk: one JSON file each, written whole or not at all, with the settings that they depend on.

DIR/COLLECTION/SPLIT/TABLE/FEATURES/METHOD-ATTRIBUTES-SEED.json

A file never names a folder of the machine on which it was written.
"""

import json
from pathlib import Path
from typing import Any

from tagsight.data.jsonvalues import is_object
from tagsight.data.textfiles import read_json
from tagsight.errors import InputError
from tagsight.storage.files import write_atomically
from tagsight_bench.plan import Cell

DIGITS = 6


def locate_cell(folder: Path, cell: Cell) -> Path:
    """The path of the file of a cell."""
    fit = cell.fit
    method = fit.method.replace(":", ".")
    return folder / fit.collection / fit.on / cell.table / fit.features / f"{method}-{fit.attributes}-{fit.seed}.json"


def is_done(path: Path, settings: dict[str, Any]) -> bool:
    """Whether the cell exists and was measured with these settings."""
    return path.exists() and read_cell(path)["settings"] == settings


def read_cell(path: Path) -> dict[str, Any]:
    """The content of a cell."""
    content: Any = read_json(path)
    if not is_object(content) or not is_object(content.get("settings")):
        raise InputError(f"{str(path)!r} is not a cell of a benchmark: remove it")
    return content


def read_cells(folder: Path) -> list[dict[str, Any]]:
    """All cells under a folder, in the order of their names."""
    return [read_cell(path) for path in sorted(folder.glob("*/*/*/*/*.json"))]


def write_cell(path: Path, content: dict[str, Any]) -> None:
    """Write a cell; figures are rounded, and nan, which JSON lacks, is written as null."""
    if path.exists():
        read_cell(path)  # raises InputError where the file is not a cell
    write_atomically(path, (json.dumps(_round(content), indent=1, allow_nan=False) + "\n").encode())


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _round(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_round(inner) for inner in value]
    return value
