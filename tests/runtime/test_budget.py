"""Training under a memory limit keeps it, measured in a process of its own, and gives the same bits."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FEATURES = "200MB"


@pytest.fixture(scope="module")
def measure(repository: Path) -> Any:
    def run(kind: str, budget: int) -> dict[str, Any]:
        command = [sys.executable, str(repository / "benchmarks/memory.py"), "--only", kind, "--features", FEATURES]
        command += ["--sweeps", "4", "--budget", f"{budget // 10**6}MB"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)

    return run


@pytest.mark.slow
def test_training_stays_within_the_memory_limit(measure: Any) -> None:
    held = measure("held", 0)
    budget = held["resident_before_bytes"] + 350 * 10**6
    assert held["peak_bytes"] > 1.2 * budget
    stored = measure("stored", budget)
    assert stored["peak_bytes"] <= budget
    assert stored["sha256"] == held["sha256"]
    assert stored["bound"] == held["bound"]
