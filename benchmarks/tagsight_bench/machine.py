"""The conditions on which times depend."""

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np


def describe_machine() -> dict[str, Any]:
    """Processor, cores, versions and recent load; no name and no path."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
