"""Commands stopped by signals, or killed, at random moments: two parts of `faults.py`.

There must be no crash, no traceback, one sentence, no remaining process, and the same result in the end.

Each command is first run without interruption. Then it is stopped repeatedly, at a moment that is uniform over the
duration of that run, by SIGINT, by SIGTERM, or by both in a row. A stopped training or index is continued by the next
try; when it finishes, its result is compared with that of the first run. Moments are measured from the time when the
command handles signals: before that, nothing has begun.
"""

import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from safetensors.numpy import load_file

from tagsight.cli.main import ADVICE
from tagsight.demo import render_collection
from tagsight_bench.cli import ADVICE as BENCH_ADVICE

MODULES = {"tagsight": "tagsight.cli.main", "tagsight-bench": "tagsight_bench.cli"}  # by program
WAYS = ((signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM))
GAP = 0.5  # largest number of seconds between two signals
PATIENCE = 120  # seconds in which a stopped command must end
GRACE = 180  # seconds in which the processes of all stopped commands must be gone; agents of Ray take a minute
SERVED = 4  # seconds for which a server runs undisturbed
ENDS = tuple(f"; {advice}" for advice in (*ADVICE.values(), BENCH_ADVICE))  # of the sentence after a signal


class Case(NamedTuple):
    """A command, the options that continue it after a stop, and its result."""

    name: str
    share: float  # of all stops
    command: Callable[[Path], list[str]]  # the program and its arguments, by the folder of its output
    result: Callable[[Path], object] | None = None  # reads the result that must be equal; None: no comparison
    resume: tuple[str, ...] = ()  # options that continue a stopped command


class Inputs(NamedTuple):
    """The inputs of the commands."""

    photos: Path
    model: Path
    index_folder: Path


def stop_commands(n_stops: int, n_photos: int = 24, seed: int = 0, only: Sequence[str] = ()) -> dict[str, Any]:
    """Outcomes of stops of each command; `bad` are crashes, tracebacks, wrong exit codes and remaining processes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    with TemporaryDirectory() as folder:
        cases = make_cases(prepare(Path(folder), n_photos))
        cases = [case for case in cases if not only or case.name in only]
        moments, total = random.Random(seed), sum(case.share for case in cases)
        figures: dict[str, Any] = {}
        for case in cases:
            count = max(1, round(n_stops * case.share / total))
            figures[case.name] = stop_often(case, Path(folder) / "work", count, moments)
            print(case.name, figures[case.name], flush=True)
    bad = sum(one[name] for one in figures.values() for name in ("crashes", "tracebacks", "wrong_ends", "left_behind"))
    stops = sum(one["stops"] for one in figures.values())
    return {"photos": n_photos, "seed": seed, "stops": stops, "bad": bad, "of": figures}


def kill_commands(n_kills: int, n_photos: int = 24, seed: int = 0, only: Sequence[str] = ()) -> dict[str, Any]:
    """Outcomes of `kill -9`, `n_kills` times for each command itself and as often for a process that it started."""
    with TemporaryDirectory() as folder:
        cases = make_cases(prepare(Path(folder), n_photos))
        moments = random.Random(seed)
        figures: dict[str, Any] = {}
        for case in cases:
            if only and case.name not in only:
                continue
            for victim, choose in (("command", choose_command), ("child process", choose_child)):
                found = kill_often(case, Path(folder) / "work", n_kills, moments, choose)
                if found["kills"]:
                    figures[f"{case.name}: {victim}"] = found
                    print(case.name, victim, found, flush=True)
    bad = sum(one[name] for one in figures.values() for name in ("tracebacks", "wrong_ends", "left_behind"))
    kills = sum(one["kills"] for one in figures.values())
    return {"photos": n_photos, "seed": seed, "kills": kills, "bad": bad, "of": figures}


def prepare(folder: Path, n_photos: int) -> Inputs:
    """A rendered collection, a model of it and an index."""
    inputs = Inputs(folder / "photos", folder / "a.model", folder / "a.index")
    render_collection(inputs.photos, n_photos=n_photos, seed=3)
    run(train(inputs, inputs.model), folder / "cache")
    run(index_photos(inputs, inputs.index_folder, "test"), folder / "cache")
    return inputs


def train(inputs: Inputs, model: Path, *more: str) -> list[str]:
    photos = str(inputs.photos / "train")
    return ["tagsight", "train", photos, "-o", str(model), "--free", "2", "--regions", "20", *more]


def index_photos(inputs: Inputs, folder: Path, split: str, *more: str) -> list[str]:
    return ["tagsight", "index", str(inputs.model), str(inputs.photos / split), "-o", str(folder), *more]


def make_cases(inputs: Inputs) -> list[Case]:
    model, test, data = str(inputs.model), str(inputs.photos / "test"), str(inputs.photos.parent)

    def make_train_command(*more: str) -> Callable[[Path], list[str]]:
        return lambda out: train(inputs, out / "a.model", "--workers", "2", *more)

    def index(*more: str) -> Callable[[Path], list[str]]:
        return lambda out: index_photos(inputs, out / "a.index", "train", *more)

    def bench(out: Path) -> list[str]:
        options = ["--methods", "tagsight", "--table", "annotation", "--seeds", "1"]
        return ["tagsight-bench", "rendered", "--data", data, "-o", str(out / "cells"), *options]

    def export(out: Path) -> list[str]:
        return ["tagsight", "export", model, test, "--format", "coco", "-o", str(out / "export")]

    def serve(out: Path) -> list[str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            return ["tagsight", "serve", str(inputs.index_folder), "--port", str(free.getsockname()[1])]

    def segment(out: Path) -> list[str]:
        return ["tagsight", "segment", model, test, "-o", str(out / "masks"), "--overlay"]

    resume = ("--resume",)
    return [
        Case("train", 6, make_train_command(), read_model, resume),
        Case("train --memory", 6, make_train_command("--memory", "2GB"), read_model, resume),
        Case("train --engine ray", 2, make_train_command("--engine", "ray"), read_model, resume),
        Case("index", 5, index(), read_index),
        Case("index --engine ray", 1, index("--engine", "ray"), read_index),
        Case("export", 3, export, read_files),
        Case("segment", 3, segment, read_files),
        Case("tagsight-bench", 2, bench, read_cells),
        Case("serve", 2, serve),
    ]


def read_model(out: Path) -> str:
    return sha256((out / "a.model").read_bytes()).hexdigest()


def read_files(out: Path) -> dict[str, str]:
    files = [path for folder in ("export", "masks") for path in (out / folder).glob("*") if path.is_file()]
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def read_cells(out: Path) -> list[Any]:
    return [json.loads(path.read_text())["figures"] for path in sorted((out / "cells").rglob("*.json"))]


def read_index(out: Path) -> list[Any]:
    """The rows of an index, independent of its parts and of the numbers of photos."""
    rows: list[Any] = []
    for part in (out / "a.index/parts").glob("*.safetensors"):
        tensors = load_file(part)
        for row in range(len(tensors["photo"])):
            regions, path, label_map = (
                slice(*tensors[f"{name}_starts"][row : row + 2]) for name in ("region", "path", "label_map")
            )
            values = (
                *(tensors[name][row] for name in ("file_stat", "size")),
                *(tensors[name][regions] for name in ("boxes", "named")),
                *(tensors["tops"][:, row], tensors["levels"][:, regions]),
                *(tensors["path"][path], tensors["label_map"][label_map]),
            )
            rows.append(sha256(b"".join(value.tobytes() for value in values)).hexdigest())
    return sorted(rows)


def stop_often(case: Case, out: Path, count: int, moments: random.Random) -> dict[str, Any]:
    """Stop a command `count` times, and count the outcomes."""
    duration, wanted = run_undisturbed(case, out)
    found: Counter[str] = Counter()
    seconds: list[float] = []
    codes: Counter[str] = Counter()
    sessions: set[int] = set()
    begin(out)
    more: tuple[str, ...] = ()
    while found["stops"] < count:
        end = stop_once([*case.command(out), *more], out, moments.uniform(0, duration), moments)
        more = case.resume
        found.update(find_faults(end))
        sessions.add(end.session)
        if end.code != 0:
            found["stops"] += 1
            codes[str(end.code)] += 1
            seconds.append(end.seconds)
        else:
            found["finished"] += 1  # it ended before the signal, or too soon after it
            found.update(compare(case, out, wanted))
            begin(out)
            more = ()
    if case.result is not None and any(out.iterdir()):  # the last run must finish
        run([*case.command(out), *more], out / "cache")
        found.update(compare(case, out, wanted))
    shutil.rmtree(out)
    found["left_behind"] = len(await_end(sessions))
    names = ("stops", "crashes", "tracebacks", "wrong_ends", "left_behind", "finished", "same_results")
    return {
        **{name: found[name] for name in names},
        "exit_codes": dict(sorted(codes.items())),
        "seconds_undisturbed": round(duration, 1),
        "seconds_to_end": {"median": round(statistics.median(seconds), 2), "longest": round(max(seconds), 2)},
    }


def choose_command(process: "subprocess.Popen[bytes]", moments: random.Random) -> int | None:
    """The command itself."""
    return process.pid if process.poll() is None else None


def choose_child(process: "subprocess.Popen[bytes]", moments: random.Random) -> int | None:
    """A process that the command started, if there is one."""
    children = [int(one.split()[-1]) for one in list_processes({process.pid})]
    return moments.choice([pid for pid in children if pid != process.pid] or [None])


def kill_often(
    case: Case,
    out: Path,
    count: int,
    moments: random.Random,
    choose: Callable[["subprocess.Popen[bytes]", random.Random], int | None],
) -> dict[str, Any]:
    """Kill a process of a command at random moments; the command, run again, must have the same result."""
    duration, wanted = run_undisturbed(case, out)
    found: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    sessions: set[int] = set()
    for _ in range(count):
        begin(out)
        with start(case.command(out), out / "cache", out / "stderr") as process:
            await_handlers(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0, duration))
            victim = choose(process, moments)
            if victim is None:
                found["not_running"] += 1
            else:
                with suppress(ProcessLookupError):  # it ended just now
                    os.kill(victim, signal.SIGKILL)
                found["kills"] += 1
            if case.name == "serve" and victim != process.pid:
                process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
        sessions.add(process.pid)
        stderr = (out / "stderr").read_text()
        codes[str(code)] += 1
        killed = victim == process.pid
        ended = not killed and code in (1, 143) and "tagsight: " in stderr
        fine = code == (-signal.SIGKILL if killed else 0) or ended
        found.update(tracebacks=int("Traceback" in stderr), wrong_ends=int(not fine))
        if "Traceback" in stderr or not fine:
            print(case.name, code, stderr[-3000:], file=sys.stderr, flush=True)
        if case.result is not None:
            run([*case.command(out), *case.resume], out / "cache")
            found.update(compare(case, out, wanted))
    shutil.rmtree(out)
    found["left_behind"] = len(await_end(sessions))
    names = ("kills", "not_running", "tracebacks", "wrong_ends", "left_behind", "same_results")
    return {**{name: found[name] for name in names}, "exit_codes": dict(sorted(codes.items()))}


def run_undisturbed(case: Case, out: Path) -> tuple[float, object]:
    """The seconds from the moment when the command handles signals, and its result."""
    begin(out)
    with start(case.command(out), out / "cache", out / "stderr") as process:
        await_handlers(process)
        began = time.monotonic()
        if case.name == "serve":
            time.sleep(SERVED)
            process.send_signal(signal.SIGTERM)
        code = process.wait()
    if code not in (0, 143 if case.name == "serve" else 0):
        raise RuntimeError((out / "stderr").read_text())
    return time.monotonic() - began, case.result and case.result(out)


def begin(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()


class End(NamedTuple):
    """How a command ended."""

    code: int
    stderr: str
    seconds: float  # after the first signal
    session: int  # of the processes it started


def stop_once(command: list[str], out: Path, moment: float, moments: random.Random) -> End:
    gaps = [0.0, moments.uniform(0, GAP)]
    numbers = moments.choice(WAYS)
    with start(command, out / "cache", out / "stderr") as process:
        await_handlers(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        first = None
        for number, gap in zip(numbers, gaps, strict=False):
            time.sleep(gap)
            if process.poll() is None:
                process.send_signal(number)
                first = first or time.monotonic()
        code = process.wait(PATIENCE)
        seconds = time.monotonic() - first if first else 0.0
    return End(code, (out / "stderr").read_text(), seconds, process.pid)


def find_faults(end: End) -> Counter[str]:
    """What is wrong with how a command ended."""
    sentences = [line for line in end.stderr.splitlines() if line.startswith("tagsight: stopped by ")]
    fine = end.code == 0 or (end.code in (130, 143) and len(sentences) == 1 and sentences[0].endswith(ENDS))
    bad = Counter(
        crashes=int(end.code < 0 and -end.code not in (signal.SIGINT, signal.SIGTERM)),
        tracebacks=int("Traceback" in end.stderr),
        wrong_ends=int(not fine),
    )
    if any(bad.values()):
        print(end.code, end.stderr[-3000:], file=sys.stderr, flush=True)
    return bad


def compare(case: Case, out: Path, wanted: object) -> Counter[str]:
    if case.result is None:
        return Counter()
    same = case.result(out) == wanted
    return Counter(same_results=int(same), wrong_ends=int(not same))


def run(command: list[str], cache: Path) -> None:
    """Run a command to its end."""
    stderr = cache.with_name("stderr")
    with start(command, cache, stderr) as process:
        code = process.wait()
    if code:
        raise RuntimeError(stderr.read_text())


@contextmanager
def start(command: list[str], cache: Path, stderr: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A command in a session of its own; its standard error goes to a file."""
    program, *arguments = command
    environment = {**os.environ, "TAGSIGHT_CACHE": str(cache), "PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"}
    with stderr.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", f"from {MODULES[program]} import main; main()", *arguments],
            env=environment, stdout=subprocess.DEVNULL, stderr=file, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def await_handlers(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process handles SIGTERM."""
    bit = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
        if int(caught.split()[1], 16) & bit:
            return
        time.sleep(0.002)


def await_end(sessions: set[int]) -> list[str]:
    """Processes of the sessions that still run after a while."""
    until = time.monotonic() + GRACE
    while (left := list(list_processes(sessions))) and time.monotonic() < until:
        time.sleep(0.2)
    return left


def list_processes(sessions: set[int]) -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = place.read_text()
        except OSError:
            continue  # it ended just now
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 1 :].split()
        if int(rest[3]) in sessions and rest[0] != "Z":
            yield f"{name} {place.parent.name}"
