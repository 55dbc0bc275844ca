"""Commands on a disk that becomes full during their run: a part of `faults.py`; needs root on Linux.

A small file system is mounted for each try. The command is run once, to measure how much it writes; in every second try
its output is then removed. The disk is filled up to a share of that amount, and the command is run again. It must end
with one sentence and exit code 1, or finish; an earlier output must still exist; and when the space is free again, the
same command must finish.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

SIZE = 512 * 2**20  # bytes of the file system
FILLER = "filler"
INSIDE = "inside"  # first argument of the process in which the file system is mounted


class Inputs(NamedTuple):
    """The inputs of the commands, on another disk."""

    photos: str  # folder of train/ and test/
    model: str
    index_folder: str


def list_commands(inputs: Inputs, out: Path) -> dict[str, list[str]]:
    """The commands that write, by name."""
    train = ["train", f"{inputs.photos}/train", "-o", str(out / "a.model"), "--free", "3", "--regions", "30"]
    test = f"{inputs.photos}/test"
    decision = ["yes", "--photo", "0000.jpg", "--word", "zebra", "--kind", "object"]
    return {
        "train": train,
        "train --memory": [*train, "--memory", "2GB"],
        "index": ["index", inputs.model, test, "-o", str(out / "a.index"), "--workers", "1"],
        "segment": ["segment", inputs.model, test, "-o", str(out / "masks"), "--overlay"],
        "export": ["export", inputs.model, test, "-o", str(out / "coco"), "--format", "coco"],
        "export xmp": ["export", inputs.model, test, "-o", str(out / "xmp"), "--format", "xmp"],
        "factors": ["factors", inputs.model, "-o", str(out / "factors.html")],
        "find": ["find", inputs.index_folder, "free-1", "-o", str(out / "found.html")],
        "name": ["name", str(out / "a.index"), "free-2", "zigzag"],
        "decide": ["decide", f"{inputs.photos}/train", *decision, "--journal", str(out / "decisions.sqlite")],
        "demo": ["demo", "-o", str(out / "demo"), "--photos", "20"],
    }


def fill_disk(inputs: Inputs, mount: Path, n_shares: int) -> dict[str, Any]:
    """Outcomes of each command, by name, with room for `n_shares` shares of the bytes that it writes.

    Each share is tried with and without an earlier output.
    """
    mount.mkdir()
    found: dict[str, Any] = {}
    for name in list_commands(inputs, mount):
        outcomes: Counter[str] = Counter()
        examples: dict[str, str] = {}
        for number in range(2 * n_shares):
            outcome, message = _try(inputs, mount, name, number // 2 / n_shares, fresh=number % 2 == 1)
            outcomes[outcome] += 1
            examples.setdefault(outcome, message)
        found[name] = {**outcomes, "examples": examples}
        print(name, found[name], flush=True)
    return found


def _try(inputs: Inputs, mount: Path, name: str, share: float, *, fresh: bool) -> tuple[str, str]:
    command = [sys.executable, __file__, INSIDE, json.dumps(inputs), str(mount), name, str(share), str(int(fresh))]
    done = subprocess.run(["unshare", "-m", *command], stdout=subprocess.PIPE, text=True, check=True)
    outcome, message = json.loads(done.stdout)
    return outcome, message


def _run_inside(inputs: Inputs, mount: Path, name: str, share: float, fresh: bool) -> tuple[str, str]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(mount)], check=True)
    os.environ.update(TAGSIGHT_CACHE=str(mount / "cache"), TMPDIR=str(mount))
    commands = list_commands(inputs, mount)
    if name == "name":
        _call(commands["index"])
    command = commands[name]
    _call(command)  # also builds the network in the cache
    kept = "a.index" if name == "name" else ""
    before = _measure(mount)
    _remove(mount, kept)
    written = before - _measure(mount)
    if not fresh:
        _call(command)
    sound = _list_outputs(mount)
    room = int(share * max(written, 4096))
    filler = mount / FILLER
    filler.write_bytes(bytes(max(0, os.statvfs(mount).f_bavail * os.statvfs(mount).f_frsize - room)))
    done = _call(command, check=False)
    messages = [line for line in done.stderr.splitlines() if line]
    if done.returncode == 0:
        outcome = "finished"
    elif "Traceback" in done.stderr or done.returncode != 1:
        outcome = f"bad end {done.returncode}"
    elif not messages or "space" not in messages[-1]:
        outcome = "another sentence"
    else:
        outcome = "one sentence"
    if outcome == "one sentence" and not sound <= _list_outputs(mount):
        outcome = "lost an output"
    filler.unlink()
    again = _call(command, check=False)
    if again.returncode:
        outcome, messages = "does not go on", again.stderr.splitlines()
    return outcome, messages[-1].replace(str(mount), "OUT") if messages else ""


def _call(command: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-c", "from tagsight.cli.main import main; main()", *command]
    return subprocess.run(start, capture_output=True, text=True, check=check)


def _remove(mount: Path, keep: str) -> None:
    """Remove the output of the command and features in the cache."""
    for path in (mount / "cache").rglob("*.safetensors"):
        path.unlink()
    for path in mount.iterdir():
        if path.name not in ("cache", keep):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _measure(mount: Path) -> int:
    status = os.statvfs(mount)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def _list_outputs(mount: Path) -> set[str]:
    """Output files that are not empty, without caches, checkpoints and the photos of the demo."""
    files = [path.relative_to(mount) for path in mount.rglob("*") if path.is_file() and path.stat().st_size]
    apart = ("cache", "demo/photos", "a.model.checkpoint", "a.index/parts", FILLER)
    return {str(path) for path in files if not str(path).startswith(apart) and not path.name.startswith(".")}


if __name__ == "__main__" and sys.argv[1:2] == [INSIDE]:
    _, _, inputs, mount, name, share, fresh = sys.argv
    print(json.dumps(_run_inside(Inputs(*json.loads(inputs)), Path(mount), name, float(share), fresh == "1")))
