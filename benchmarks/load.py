"""Load on the web server: clients of a large index, clients during updates of an index, and fuzzing of the API.

    python benchmarks/load.py [--sizes 5000 100000] [--sizes-only] [--scratch DIR]

An index of synthetic photos (`made_index`) of each size is served by `tagsight serve` in a process of its own. Clients
send requests without pauses: search pages, each with its outlines at the same time as a browser requests them, photo
pages, photos as JSON, photos similar to a photo and to a region. Any status but 200 is an error. The result is in
results/load_sizes.json.

Then a rendered collection is indexed and served. Clients search, four times by the API and once by the page, and every
answer is checked. Meanwhile another process repeatedly removes photos from the collection, restores them and indexes
again. At last the API is fuzzed from its own description (results/load.json).
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from fuzz import fuzz_api
from made_index import ATTRIBUTES, OBJECTS, REGIONS, make_index
from record import write_result
from tagsight.data.readers import open_collection
from tagsight.demo import render_collection
from tagsight.index import build_index, list_source, open_index
from tagsight.predict.model_file import load_model, save_model
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train

SERVE = "from tagsight.cli.main import main; main()"
TAKEN = 10  # photos that are removed and restored at each update
SIZES = (5_000, 100_000)
OUTLINES = 6  # that a browser requests at the same time
# Requests of a client of a large index, in percent.
SHARES = {"search": 30, "photo_page": 25, "photo_json": 20, "like": 15, "like_region": 10}


class RequestResult(NamedTuple):
    """One request of a client."""

    seconds: float
    page: bool
    error: str | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="photos of the made-up indexes")
    parser.add_argument("--sizes-only", action="store_true", help="no updates and no fuzzing")
    parser.add_argument("--scratch", type=Path, help="folder for the made-up indexes (2 GB at 100,000 photos)")
    parser.add_argument("--photos", type=int, default=200)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--examples", type=int, default=200, help="fuzzing requests of each mode for an operation")
    options = parser.parse_args()
    if options.sizes:
        rows = [measure_size(n, options.clients, options.seconds, options.scratch) for n in options.sizes]
        write_result("load_sizes", {"clients": options.clients, "shares": SHARES, "sizes": rows})
    if options.sizes_only:
        return
    with TemporaryDirectory() as folder:
        os.environ["TAGSIGHT_CACHE"] = str(Path(folder) / "cache")
        photos, model, index = make_collection(Path(folder), options.photos)
        with serve(index) as (port, _):
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
    build_index(load_model(model), list_source(photos), index)
    return photos, model, index


def measure_size(n_photos: int, n_clients: int, seconds: float, scratch: Path | None) -> dict[str, Any]:
    """The results of clients of an index of this size."""
    with TemporaryDirectory(dir=scratch) as folder:
        make_index(Path(folder), n_photos)
        with serve(Path(folder)) as (port, server), ThreadPoolExecutor(n_clients) as pool:
            end = time.monotonic() + seconds
            clients = [pool.submit(browse, port, n_photos, end, seed) for seed in range(n_clients)]
            every = [one for client in clients for one in client.result()]
            memory = Path(f"/proc/{server}/status").read_text().splitlines()
    times: dict[str, list[float]] = defaultdict(list)
    for kind, result in every:
        times[kind].append(result.seconds)
    errors = [result.error for _, result in every if result.error]
    return {
        "photos": n_photos,
        "seconds": seconds,
        "requests": len(every),
        "requests_per_second": round(len(every) / seconds, 1),
        "errors": len(errors),
        "first_errors": sorted(set(errors))[:5],
        "ms": {kind: {"requests": len(some), **summarise(some)} for kind, some in sorted(times.items())},
        "server_peak_memory_mb": next(int(line.split()[1]) // 1000 for line in memory if line.startswith("VmHWM")),
    }


def browse(port: int, n_photos: int, end: float, seed: int) -> list[tuple[str, RequestResult]]:
    """One client of a large index."""
    rng = random.Random(seed)
    results: list[tuple[str, RequestResult]] = []
    with ThreadPoolExecutor(OUTLINES) as pool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while time.monotonic() < end:
            (kind,) = rng.choices(list(SHARES), list(SHARES.values()))
            photo, region = rng.randrange(n_photos), rng.randrange(REGIONS)
            query = urlencode({"q": f"attribute{rng.randrange(ATTRIBUTES)} object{rng.randrange(OBJECTS)}"})
            path = {
                "search": f"/?{query}",
                "photo_page": f"/photos/{photo}?{query}",
                "photo_json": f"/api/photos/{photo}",
                "like": f"/api/photos/{photo}/like",
                "like_region": f"/api/photos/{photo}/like?region={region}",
            }[kind]
            result, content = request(connection, path)
            results.append((kind, result))
            if kind == "search" and result.error is None:
                outlines = re.findall(r'src="(/api/photos/\d+/outline[^"]+)"', content.decode())
                results += [("outline", one) for one in pool.map(lambda path: request_once(port, path), outlines)]
        connection.close()
    return results


def request_once(port: int, path: str) -> RequestResult:
    """A request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    result, _ = request(connection, path.replace("&amp;", "&"))
    connection.close()
    return result


def request(connection: http.client.HTTPConnection, path: str) -> tuple[RequestResult, bytes]:
    """A request and the content of its answer."""
    begin = time.perf_counter()
    content = b""
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        content = response.read()
        error = None if response.status == 200 else f"{response.status}: {content[:200]!r}"
    except (OSError, http.client.HTTPException) as problem:
        error = f"{type(problem).__name__}: {problem}"
        connection.close()
    return RequestResult(time.perf_counter() - begin, not path.startswith("/api/"), error), content


@contextmanager
def serve(index: Path) -> Iterator[tuple[int, int]]:
    """A server's port and process number."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVE, "serve", str(index), "--port", str(port)])
    try:
        while not is_answering(port, "/api/words", tries=200):
            time.sleep(0.1)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait()


def search_under_updates(
    port: int, photos: Path, model: Path, index: Path, n_clients: int, seconds: float
) -> dict[str, Any]:
    """The results of clients while the index is updated."""
    manifest = open_index(index).manifest
    stop = get_context("spawn").Event()
    updater = get_context("spawn").Process(target=update, args=(photos, model, index, stop))
    updater.start()
    while open_index(index).manifest.generation == manifest.generation:
        time.sleep(0.1)  # it has to compile first
    before = open_index(index).manifest.generation
    end = time.monotonic() + seconds
    results: list[list[RequestResult]] = [[] for _ in range(n_clients)]
    clients = [
        threading.Thread(
            target=search, args=(port, manifest.objects, manifest.attributes, end, number, results[number])
        )
        for number in range(n_clients)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    stop.set()
    updater.join()
    every = [one for list_ in results for one in list_]
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
    """Remove photos, index, restore them, index, until `stop` is set."""
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
            build_index(load_model(model), list_source(photos), index, n_workers=1)


def search(
    port: int,
    objects: tuple[str, ...],
    attributes: tuple[str, ...],
    end: float,
    seed: int,
    results: list[RequestResult],
) -> None:
    """One client."""
    rng = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < end:
        query = rng.choice(objects) if rng.random() < 0.3 else f"{rng.choice(attributes)} {rng.choice(objects)}"
        threshold = rng.choice([0.0, 0.1, 0.5])
        page = rng.random() < 0.2
        path = f"{'/' if page else '/api/search'}?{urlencode({'q': query, 'threshold': threshold})}"
        result, content = request(connection, path)
        if result.error is None and not page:
            result = result._replace(error=check(json.loads(content), threshold))
        results.append(result)
    connection.close()


def check(answer: dict[str, Any], threshold: float) -> str | None:
    """Whether hits are in descending order and reach the threshold."""
    scores = [hit["score"] for hit in answer["hits"]]
    fine = scores == sorted(scores, reverse=True) and all(score >= threshold for score in scores)
    return None if fine else f"wrong order: {scores}"


def is_answering(port: int, path: str, *, tries: int) -> bool:
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
