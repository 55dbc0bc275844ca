"""Training stopped by SIGTERM, Ctrl-C or kill -9 at random moments is resumed to the same bytes.

One process imports everything, runs nothing, and forks a child for each try. A child sends itself the signal just
before the n-th file is renamed, linked or removed, which are the only moments at which the disk changes.
(`benchmarks/stops.py` stops commands at any moment.)
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Trained

SCRIPT = r"""
import faulthandler, json, os, random, signal, sys
from pathlib import Path
from types import SimpleNamespace
from tagsight.training import fit as fitting
from tagsight.training import pipeline as training
from tagsight.cli.main import main
from tagsight.features import extract
from tagsight.engine import checkpoint

photos, folder, way = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
fitting.FEWEST_TO_HOLD_OUT = 10  # so that there are four fits
budgets = [], ["--memory", "2GB"]
moments = random.Random(1)


def call(model, *more):
    sys.argv = ["tagsight", "train", photos, "-o", str(folder / model), "--free", "2", "--regions", "30",
                "--workers", "1", "--json", *more]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def train(model, *more, at=None, number=signal.SIGKILL):
    # Exit code, standard error, and the number of changes of the disk.
    stderr = folder / "stderr"
    pid = os.fork()
    if pid == 0:
        with stderr.open("w") as file:
            os.dup2(file.fileno(), 2)
        faulthandler.enable()  # a crash prints its traceback
        count = 0

        def note(function):
            def noted(*arguments, **named):
                nonlocal count
                if count == at:
                    os.kill(os.getpid(), number)
                count += 1
                return function(*arguments, **named)
            return noted

        for name in ("replace", "rename", "unlink"):
            setattr(Path, name, note(getattr(Path, name)))
        os.link = note(os.link)
        code = call(model, *more)
        sys.stdout.flush()
        (folder / "count").write_text(str(count))
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, stderr.read_text(), int((folder / "count").read_text()) if code == 0 else None


# Every photo was described when the model was trained: the network itself is not needed, and takes long to open.
pid = os.fork()
if pid == 0:
    from tagsight.features.extractor import ExtractorConfig
    (folder / "fingerprint").write_text(extract.open_extractor(ExtractorConfig("deep")).fingerprint)
    os._exit(0)
os.waitpid(pid, 0)
fingerprint = (folder / "fingerprint").read_text()
extract.open_extractor = lambda recipe: SimpleNamespace(fingerprint=fingerprint)
training.pin_extractor = lambda recipe: recipe

code, stderr, _ = train("whole")  # in a child, too: a process that has run kernels and threads is not safe to fork
assert code == 0, stderr
wanted = (folder / "whole").read_bytes()
code, stderr, changes = train("again")
assert code == 0, stderr
assert (folder / "again").read_bytes() == wanted
assert sorted(path.name for path in folder.iterdir()) == ["again", "count", "fingerprint", "stderr", "whole"]

ends = 0
for budget in budgets if way == "killed" else ():
    code, stderr, _ = train("killed", *budget, at=moments.randrange(changes))
    while code != 0:
        assert code == -signal.SIGKILL, stderr
        ends += 1
        more = ["--resume"] if checkpoint.has_checkpoint(folder / "killed.checkpoint") else []
        code, stderr, _ = train("killed", *budget, *more, at=moments.randrange(10, changes))
    assert (folder / "killed").read_bytes() == wanted
    (folder / "killed").unlink()
    assert not list(folder.glob("killed*")), list(folder.glob("killed*"))

for budget, number in zip(budgets, (signal.SIGTERM, signal.SIGINT)) if way == "stopped" else ():
    code = None
    while code != 0:
        resume = [] if code is None else ["--resume"]
        code, stderr, _ = train("stopped", *budget, *resume, at=moments.randrange(10, changes), number=number)
        assert code in (0, 128 + number), (code, stderr)
        if code:
            ends += 1
            assert stderr.endswith("the same command with --resume continues from here\n"), stderr
            assert "Traceback" not in stderr
    assert (folder / "stopped").read_bytes() == wanted
    (folder / "stopped").unlink()
print(json.dumps([changes, ends]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["killed", "stopped"])
def test_training_is_resumed_to_the_same_bytes(way: str, trained: Trained, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(trained.photos / "train"), str(tmp_path), way]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr + run.stdout
    changes, ends = json.loads(run.stdout.splitlines()[-1])
    assert changes >= 40
    assert ends >= 2
