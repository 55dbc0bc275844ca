"""Memory: sizes as people write them, what this process holds, and when a budget is too small."""

import os
import re
import resource
from pathlib import Path

from tagsight.errors import InputError

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

LONGEST = 30  # digits of a size


def read_size(text: str) -> int:
    """Bytes that a size such as 2GB, 1.5GiB or 800MB stands for."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2].upper() not in UNITS or len(match[1]) > LONGEST:
        raise InputError(f"memory must be a size such as 2GB, 800MB or 1.5GiB, got {text!r}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def write_size(size: int) -> str:
    """A size in the unit that reads best."""
    return f"{size / 10**9:.2f}GB" if size >= 10**9 else f"{size / 10**6:.0f}MB"


def measure_resident() -> int:
    """Bytes of memory that this process holds now; where the system does not tell, the most it ever held."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts bytes


def leave_room(budget: int, need: int, purpose: str) -> int:
    """Bytes of a budget left when `need` more are taken for what cannot be split; InputError if there are none."""
    left = budget - measure_resident() - need
    if left <= 0:
        least = write_size(budget - left + 10**7)
        raise InputError(f"memory of {write_size(budget)} is too small: {purpose} takes {least}; give more")
    return left
