"""Clients that search while the index is being updated, then a long fuzzing of the API.

A rendered collection is indexed and served by `tagsight serve` in a process of its own. Clients ask as fast as they are
answered, four times the API and once the page; every answer is checked. Meanwhile another process takes photos out of
the collection, puts them back and indexes again, over and over.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from fuzz import fuzz_api
from record import write_result

from tagsight.data.readers import open_collection
from tagsight.data.synthetic import render_collection
from tagsight.index import build_index, list_source, open_index
from tagsight.storage.model_file import save_model
from tagsight.training import TrainOptions, train

SERVE = "from tagsight.cli.main import main; main()"
TAKEN = 10  # photos that go and come back at each update


class Answered(NamedTuple):
    """One request of a client."""

    seconds: float
    page: bool
    error: str | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=200)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--examples", type=int, default=200, help="fuzzing requests of each mode for an operation")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["TAGSIGHT_CACHE"] = str(Path(folder) / "cache")
        photos, model, index = make_collection(Path(folder), options.photos)
        with serve(index) as port:
            load = search_under_updates(port, photos, model, index, options.clients, options.seconds)
            fuzzed = fuzz_api(f"http://127.0.0.1:{port}", n_examples=options.examples)
    statuses = {operation: {str(k): v for k, v in sorted(counts.items())} for operation, counts in fuzzed.items()}
    write_result(
        "load",
        {
            "clients": options.clients,
            "photos": options.photos,
            **load,
            "fuzzing": {
                "requests": sum(counts.total() for counts in fuzzed.values()),
                "server_errors": sum(n for counts in fuzzed.values() for status, n in counts.items() if status >= 500),
                "statuses": statuses,
            },
        },
    )


def make_collection(folder: Path, n_photos: int) -> tuple[Path, Path, Path]:
    """Photos, a model and an index."""
    render_collection(folder / "rendered", n_photos=n_photos, seed=0)
    photos, model, index = folder / "rendered/train", folder / "a.model", folder / "a.index"
    save_model(train(open_collection(photos), TrainOptions(n_free=8)).model, model)
    (photos / "tags.csv").unlink()  # photos that go would be missed
    build_index(model, list_source(photos), index)
    return photos, model, index


@contextmanager
def serve(index: Path) -> Iterator[int]:
    """A server's port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVE, "serve", str(index), "--port", str(port)])
    try:
        while not ask(port, "/api/words", tries=200):
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def search_under_updates(
    port: int, photos: Path, model: Path, index: Path, n_clients: int, seconds: float
) -> dict[str, Any]:
    """What the clients saw."""
    manifest = open_index(index).manifest
    stop = get_context("spawn").Event()
    updater = get_context("spawn").Process(target=update, args=(photos, model, index, stop))
    updater.start()
    while open_index(index).manifest.generation == manifest.generation:
        time.sleep(0.1)  # it has to compile first
    before = open_index(index).manifest.generation
    end = time.monotonic() + seconds
    answered: list[list[Answered]] = [[] for _ in range(n_clients)]
    clients = [
        threading.Thread(
            target=search, args=(port, manifest.objects, manifest.attributes, end, number, answered[number])
        )
        for number in range(n_clients)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    stop.set()
    updater.join()
    every = [one for list_ in answered for one in list_]
    updates = open_index(index).manifest.generation - before
    return {
        "seconds": seconds,
        "updates": updates,
        "requests": len(every),
        "requests_per_second": round(len(every) / seconds, 1),
        "errors": sum(one.error is not None for one in every),
        "first_errors": sorted({one.error for one in every if one.error})[:5],
        "api_ms": summarise([one.seconds for one in every if not one.page]),
        "page_ms": summarise([one.seconds for one in every if one.page]),
    }


def summarise(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    return {f"p{p}": round(1000 * float(np.percentile(seconds, p)), 1) for p in (50, 95, 99, 100)}


def update(photos: Path, model: Path, index: Path, stop: Event) -> None:
    """Take photos out, index, put them back, index, until told to stop."""
    away = photos.parent / "away"
    away.mkdir()
    names = sorted(path.name for path in photos.glob("*.jpg"))
    for turn in range(1_000_000):
        if stop.is_set():
            return
        taken = [names[(turn * TAKEN + k) % len(names)] for k in range(TAKEN)]
        for source, target in ((photos, away), (away, photos)):
            for name in taken:
                shutil.move(source / name, target / name)
            build_index(model, list_source(photos), index, n_workers=1)


def search(
    port: int, objects: tuple[str, ...], attributes: tuple[str, ...], end: float, seed: int, answered: list[Answered]
) -> None:
    """One client."""
    rng = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < end:
        query = rng.choice(objects) if rng.random() < 0.3 else f"{rng.choice(attributes)} {rng.choice(objects)}"
        threshold = rng.choice([0.0, 0.1, 0.5])
        page = rng.random() < 0.2
        path = f"{'/' if page else '/api/search'}?{urlencode({'q': query, 'threshold': threshold})}"
        begin = time.perf_counter()
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            content = response.read()
            error = None if response.status == 200 else f"{response.status}: {content[:200]!r}"
        except (OSError, http.client.HTTPException) as problem:
            error = f"{type(problem).__name__}: {problem}"
            connection.close()
            content = b""
        seconds = time.perf_counter() - begin
        if error is None and not page:
            error = check(json.loads(content), threshold)
        answered.append(Answered(seconds, page, error))
    connection.close()


def check(answer: dict[str, Any], threshold: float) -> str | None:
    """Whether hits come best first and reach the threshold."""
    scores = [hit["score"] for hit in answer["hits"]]
    fine = scores == sorted(scores, reverse=True) and all(score >= threshold for score in scores)
    return None if fine else f"wrong order: {scores}"


def ask(port: int, path: str, *, tries: int) -> bool:
    """Whether the server answers."""
    for _ in range(tries):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except OSError:
            time.sleep(0.1)
    return False


if __name__ == "__main__":
    main()
