"""Memory: sizes as text, the resident memory of this process, and what remains of a budget."""

import re

import psutil

from tagsight.errors import InputError

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

LONGEST = 30  # digits of a size


def read_size(text: str) -> int:
    """The number of bytes of a size such as 2GB, 1.5GiB or 800MB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2].upper() not in UNITS or len(match[1]) > LONGEST:
        raise InputError(f"memory must be a size such as 2GB, 800MB or 1.5GiB, got {text!r}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def write_size(size: int) -> str:
    """A number of bytes as text, in GB or MB."""
    return f"{size / 10**9:.2f}GB" if size >= 10**9 else f"{size / 10**6:.0f}MB"


def measure_resident() -> int:
    """The resident memory of this process in bytes."""
    return psutil.Process().memory_info().rss


def leave_room(budget: int, need: int, purpose: str) -> int:
    """The bytes of a budget that remain after the memory in use and `need` more; InputError if none remain.

    `purpose` names the use of the memory in the message of the error.
    """
    left = budget - measure_resident() - need
    if left <= 0:
        least = write_size(budget - left + 10**7)
        raise InputError(f"memory of {write_size(budget)} is too small: {purpose} takes {least}; give more")
    return left
