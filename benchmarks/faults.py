"""Outcomes of damaged files, full disks and signals, written to results/faults.json. The parts of this script:

    flips      single-bit flips of a model file, of each file of an index, and of entries of the feature cache
    full-disk  every command that writes, on a disk that becomes full during its run (needs root on Linux)
    stops      every long-running command, stopped by signals at random moments
    kills      the same commands and the processes they start, killed by SIGKILL

First, a small model is trained on rendered photos. Every try runs in a forked process, so a crash is an outcome.
"""

import argparse
import json
import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from full_disk import Inputs, fill_disk
from record import RESULTS, write_result
from stops import kill_commands, stop_commands
from tagsight.data.readers import open_collection
from tagsight.demo import render_collection
from tagsight.errors import InputError
from tagsight.features import extract
from tagsight.index import build_index, list_source, name_factor, open_index
from tagsight.predict.model_file import load_model, save_model
from tagsight.predict.predictor import predict_photos
from tagsight.predict.trained_model import TrainedModel
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train

N_PHOTOS, N_REGIONS = 24, 30
LIMIT = 60  # seconds per try
SHARES = 6  # of the bytes that a command writes, for which a full disk has room

Figures = dict[str, Any]


class Setup(NamedTuple):
    """The files that are damaged."""

    photos: Path
    model: Path
    index_folder: Path
    fingerprint: str  # of the feature extractor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS, help="kinds of faults")
    parser.add_argument("--tries", type=int, default=100, help="of each file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TAGSIGHT_CACHE"] = str(Path(folder) / "cache")
        photos, model, index, fingerprint = in_child(lambda: prepare(Path(folder)), limit=600)["answer"]
        setup = Setup(Path(photos), Path(model), Path(index), fingerprint)
        found = {name: PARTS[name](setup, arguments.tries) for name in arguments.parts}
    write_result("faults", read_parts() | found)


def read_parts() -> Figures:
    """The parts of the last results; those that are not measured again are kept."""
    path = RESULTS / "faults.json"
    return {name: part for name, part in json.loads(path.read_text()).items() if name in PARTS} if path.exists() else {}


def prepare(folder: Path) -> list[str]:
    """Train a model and index its photos."""
    render_collection(folder / "photos", n_photos=N_PHOTOS, seed=3)
    photos = folder / "photos" / "test"
    collection = open_collection(folder / "photos" / "train")
    save_model(train(collection, TrainOptions(n_free=3, n_regions=N_REGIONS, n_workers=1)).model, folder / "a.model")
    build_index(load_model(folder / "a.model"), list_source(photos), folder / "index", n_workers=1)
    name_factor(folder / "index", "free-1", "wavy")
    fingerprint = extract.open_extractor(load_model(folder / "a.model").extractor_config).fingerprint
    return [str(photos), str(folder / "a.model"), str(folder / "index"), fingerprint]


def in_child(work: Callable[[], Any], limit: int = LIMIT) -> dict[str, Any]:
    """The outcome of a call in a forked process: an answer, a sentence (refused), a traceback, or a signal (crash)."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(limit)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            result = {"answer": work()}
        except InputError as problem:
            result = {"refused": str(problem)}
        except BaseException as problem:
            result = {"traceback": repr(problem)}
        with os.fdopen(write_end, "wb") as answers:
            answers.write(json.dumps(result).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answers:
        content = answers.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(content) if content else {"crash": status}


def flip(setup: Setup, n_tries: int) -> Figures:
    """Single-bit flips: the outcome of reading each file, and of a build of the index after it."""
    model = load_model(setup.model)
    photos = sorted(setup.photos.glob("*.jpg"))
    extraction = extract.extract(photos, model.extractor_config, n_regions=model.n_regions, n_workers=1)
    predict_photos(model.predictor, list(extraction.load()))  # forked processes inherit the compiled kernels
    found: Figures = {"tries per file": n_tries}
    found["model file"] = count_flips([setup.model], n_tries, lambda: annotate(load_model(setup.model), extraction))
    found["entries of the feature cache"] = count_flips(
        extraction.entries, n_tries, lambda: extract_again(model, photos)
    )
    opened = extract.open_extractor
    extract.open_extractor = lambda extractor_config: SimpleNamespace(
        fingerprint=setup.fingerprint
    )  # everything is in the cache
    for path in sorted(path for path in setup.index_folder.rglob("*") if path.is_file() and path.stat().st_size):
        inside = path.relative_to(setup.index_folder)
        name = (
            inside.stem if inside.parent == Path() else inside.parts[0]
        )  # files in folders are named by their content
        found[f"index: {name}, find"] = count_flips([path], n_tries, lambda: read_index(setup.index_folder))
        found[f"index: {name}, index then find"] = count_flips(
            [path], n_tries, lambda: rebuild(setup), setup.index_folder
        )
    extract.open_extractor = opened
    return found


def annotate(model: TrainedModel, extraction: extract.Extraction) -> list[Any]:
    """Predictions for some photos."""
    return [
        part.round(9).tolist() for one in predict_photos(model.predictor, list(extraction.load())[:2]) for part in one
    ]


def extract_again(model: TrainedModel, photos: Sequence[Path]) -> list[Any]:
    """The vectors of the photos."""
    found = extract.extract(photos, model.extractor_config, n_regions=model.n_regions, n_workers=1).load()
    return [[photo.features.astype(float).sum(), int(photo.labels.sum()), len(photo.edges)] for photo in found]


def read_index(folder: Path) -> dict[str, Any]:
    """Everything that an index stores of its photos."""
    index = open_index(folder)
    rows: dict[str, Any] = {"words": index.words}
    for hit in index.find("bird", top=None):
        values, boxes = index.regions(hit.photo)
        rows[hit.path] = [values.tolist(), boxes.tolist(), index.labels(hit.photo).sum().item(), hit.size]
    assert index.model.n_regions == N_REGIONS
    return rows


def rebuild(setup: Setup) -> dict[str, Any]:
    """As `read_index`, after a build, and whether the build repaired anything."""
    built = build_index(load_model(setup.model), list_source(setup.photos), setup.index_folder, n_workers=1)
    return {**read_index(setup.index_folder), "repaired": bool(built.repairs)}


def count_flips(
    paths: Sequence[Path], n_tries: int, call: Callable[[], Any], folder: Path | None = None
) -> dict[str, Any]:
    """Outcomes of `call` after flipping one bit of one of the files; `folder` is restored after each try."""
    wanted = in_child(call)
    rng = np.random.default_rng(0)
    outcomes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for number in range(n_tries):
        path = paths[number % len(paths)]
        kept = {one: one.read_bytes() for one in (folder.rglob("*") if folder else [path]) if one.is_file()}
        place = int(rng.integers(8 * len(kept[path])))
        flipped = bytearray(kept[path])
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        got = in_child(call)
        damaged = path.exists() and path.read_bytes() == flipped
        outcome = name_outcome(got, wanted, damaged)
        outcomes[outcome] += 1
        if "answer" not in got:
            examples.setdefault(outcome, str(next(iter(got.values())))[:300])
        for one in folder.rglob("*") if folder else ():
            if one.is_file() and one not in kept:
                one.unlink()
        for one, content in kept.items():
            one.write_bytes(content)
    short = {name: re.sub(r"'/[^']*/", "'", text) for name, text in examples.items()}  # names without temporary folders
    return {**outcomes, "examples": short}


def name_outcome(got: dict[str, Any], wanted: dict[str, Any], damaged: bool) -> str:
    """The name of an outcome."""
    if "answer" not in got:
        return {"refused": "refused with a sentence"}.get(next(iter(got)), next(iter(got)))
    answer, right = got["answer"], wanted["answer"]
    repaired = not damaged
    if isinstance(answer, dict):
        repaired |= answer.pop("repaired", False)
        right = {name: value for name, value in right.items() if name != "repaired"}
    if answer != right:
        return "wrong answer"
    return "repaired" if repaired else "same answer"


def fill(setup: Setup, n_tries: int) -> Figures:
    """Commands on a disk that becomes full, with room for at most `SHARES` shares of what they write."""
    folder = setup.model.parent
    inputs = Inputs(str(folder / "photos"), str(setup.model), str(setup.index_folder))
    return fill_disk(inputs, folder / "mount", min(SHARES, n_tries))


def stop(setup: Setup, n_tries: int) -> Figures:
    """Commands stopped at random moments, three times as often as a file is flipped."""
    del setup  # each command makes its own
    return stop_commands(3 * n_tries)


def kill(setup: Setup, n_tries: int) -> Figures:
    """Commands and their processes killed at random moments, a twentieth as often as a file is flipped."""
    del setup  # each command makes its own
    return kill_commands(max(1, n_tries // 20))


PARTS: dict[str, Callable[[Setup, int], Figures]] = {"flips": flip, "full-disk": fill, "stops": stop, "kills": kill}

if __name__ == "__main__":
    main()
