"""Few calls lie between the command `tagsight train` and the kernel of the local step."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.demo import render_collection

MOST_CALLS = 14  # between `tagsight.cli.main.main` and the kernel

# Record the functions of the package on the stack of every call of the kernel that updates a posterior.
SCRIPT = """
import inspect, json, sys
from pathlib import Path
import tagsight
from tagsight.cli.main import main
from tagsight.model import local_step

package = str(Path(tagsight.__file__).parent)
kernel, stacks = local_step.update_photos, []


def record(*arguments):
    if arguments[7].passes > 0:
        frames = [frame for frame in inspect.stack()[1:] if frame.filename.startswith(package)]
        if frames[-1].function == "main":  # not in a thread of a pool
            stacks.append([frame.function for frame in frames])
    return kernel(*arguments)


local_step.update_photos = record
target, *sys.argv[1:] = sys.argv[1:]
try:
    main()
finally:
    Path(target).write_text(json.dumps(stacks))
"""


@pytest.mark.slow
def test_few_calls_from_the_train_command_to_the_kernel(tmp_path: Path) -> None:
    render_collection(tmp_path / "photos", n_photos=12, seed=0)
    stacks = tmp_path / "stacks.json"
    options = ["-o", tmp_path / "a.model", "--free", "3", "--regions", "12", "--workers", "1"]
    command = [sys.executable, "-c", SCRIPT, stacks, "train", tmp_path / "photos/train", *options]
    subprocess.run(command, check=True, capture_output=True)
    found: list[list[str]] = json.loads(stacks.read_text())
    assert found
    for stack in found:
        assert len(stack) - 1 <= MOST_CALLS, " < ".join(stack)
