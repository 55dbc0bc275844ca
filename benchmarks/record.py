"""How a benchmark writes down what it measured."""

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def describe_machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


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
