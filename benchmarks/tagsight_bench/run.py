"""Run a benchmark: fit each method once, and score it for every table that lacks its cell."""

import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.collection import Collection, TaggedPhoto
from tagsight.errors import InputError
from tagsight.features.extractor import ExtractorConfig
from tagsight.features.photo_features import N_REGIONS
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.progress import Report
from tagsight.storage.files import read_bytes
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import make_extractor_config
from tagsight_bench.cells import is_done, locate_cell, write_cell
from tagsight_bench.collections import COLLECTIONS
from tagsight_bench.machine import describe_machine
from tagsight_bench.methods import find_entry, make_method
from tagsight_bench.plan import Cell, Fit, Request, plan_cells
from tagsight_bench.query_lists import COUNT, SEED, QueryLists, draw_lists, read_lists
from tagsight_bench.sources.source import SHARE, SPLIT_SEED, Source, split_for_validation
from tagsight_bench.tables import Candidate
from tagsight_bench.trial import ExtractedSource, Trial, extract_source, make_trial

PROTOCOL = 1  # increased if a protocol changes, so that old cells are measured again


class BenchPaths(NamedTuple):
    """The folders of a benchmark."""

    data: Path
    output: Path
    queries: Path


def run_bench(
    request: Request, places: BenchPaths, report: Report, *, again: bool = False, n_workers: int | None = None
) -> Iterator[Path]:
    """Yield the path of each cell when it is written; existing cells with the same settings are kept."""
    cells = plan_cells(request)
    missing = [
        cell for cell in cells if again or not is_done(locate_cell(places.output, cell), _list_settings(cell, places))
    ]
    done = len(cells) - len(missing)
    report("cells", done, len(cells))
    for part, of_part in groupby(missing, key=lambda cell: cell.fit.part):
        extracted = open_source(request, part, places.data, report, n_workers)
        for fit, of_fit in groupby(of_part, key=lambda cell: cell.fit):
            trial = make_trial(extracted, fit.attributes)
            for path in _measure(fit, list(of_fit), trial, places):
                done += 1
                report("cells", done, len(cells))
                yield path


def _measure(fit: Fit, cells: list[Cell], trial: Trial, places: BenchPaths) -> Iterator[Path]:
    entry = find_entry(fit.method)
    method = make_method(fit.method, entry, trial.train)
    start = time.perf_counter()
    with one_blas_thread():
        method = method.fit(trial.train.photos, trial.train.tags, seed=fit.seed)
    fit_seconds = time.perf_counter() - start
    needs_queries = any(cell.table == "queries" for cell in cells)
    queries = _load_queries(fit, trial, places) if needs_queries else QueryLists((), ())
    candidate = Candidate(method, trial, queries, fit.seed)
    for cell in cells:
        check_stop()
        with one_blas_thread():
            figures = COLLECTIONS[fit.collection].tables[cell.table].score(candidate)
        seconds = candidate.predict_seconds
        path = locate_cell(places.output, cell)
        write_cell(
            path,
            {
                "settings": _list_settings(cell, places),
                "machine": describe_machine(),
                "photos": {"train": len(trial.train.photos), "test": len(trial.test.photos)},
                "seconds": {"fit": fit_seconds, "predict_per_photo": seconds and seconds / len(trial.test.photos)},
                "figures": figures,
            },
        )
        yield path


def _list_settings(cell: Cell, places: BenchPaths) -> dict[str, Any]:
    """All settings on which the figures of a cell depend; the code is not among them."""
    entry = find_entry(cell.fit.method)
    settings: dict[str, Any] = {
        "protocol": PROTOCOL,
        "table": cell.table,
        **cell.fit._asdict(),
        "parameters": dict(entry.parameters),
        "supervision": entry.supervision,
        "regions": N_REGIONS,
    }
    if cell.fit.on == "validation":
        settings["held_out"] = {"share": SHARE, "seed": SPLIT_SEED}
    if cell.table == "queries":
        path = _find_query_list(cell.fit, places)
        drawn = {"count": COUNT, "seed": SEED}
        settings["queries"] = drawn if path is None else {"sha256": sha256(read_bytes(path)).hexdigest()[:16]}
    return settings


def _load_queries(fit: Fit, trial: Trial, places: BenchPaths) -> QueryLists:
    path = _find_query_list(fit, places)
    return draw_lists(trial.test.instances) if path is None else read_lists(path, trial.vocabulary)


def _find_query_list(fit: Fit, places: BenchPaths) -> Path | None:
    """The committed list of queries, if there is one. Its queries fit the test photos only."""
    name = COLLECTIONS[fit.collection].query_list
    return None if name is None or fit.on == "validation" else places.queries / name


def open_source(request: Request, part: str, data: Path, report: Report, n_workers: int | None) -> ExtractedSource:
    benched = COLLECTIONS[request.collection]
    folder = data / benched.folder
    if not folder.is_dir():
        raise InputError(f"{str(data)!r} has no folder {benched.folder!r}: give --data the folder that holds it")
    source = benched.read(folder, part)
    extractor_config = _make_extractor_config(source, folder, request.features, report)
    if request.on == "validation":
        source = split_for_validation(source)
    return extract_source(
        source, extractor_config, report, f"extracting features of {request.collection}/{part}", n_workers=n_workers
    )


def _make_extractor_config(source: Source, folder: Path, features: str, report: Report) -> ExtractorConfig:
    """The configuration of the extractor; a codebook is learned from training photos only."""
    photos = tuple(TaggedPhoto(photo.path, photo.objects, photo.attributes) for photo in source.train)
    collection = Collection(folder.name, folder, photos, source.vocabulary, ())
    return make_extractor_config(collection, TrainOptions(features=features), report)
