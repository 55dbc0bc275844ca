"""The result files of benchmarks."""

import json
import sys
from pathlib import Path
from typing import Any

from tagsight_bench.machine import describe_machine

RESULTS = Path(__file__).parent / "results"


def lies_in_project(path: Path) -> bool:
    """Whether a file is in the project, where real photos must not be."""
    return path.resolve().is_relative_to(RESULTS.resolve().parents[1])


def write_result(name: str, figures: dict[str, Any]) -> None:
    """Write results/NAME.json atomically, with the machine and the command."""
    record = {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "machine": describe_machine(),
        **figures,
    }
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"{name}.json"
    draft = target.with_suffix(".tmp")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(target)
    print(json.dumps(record, indent=1))
