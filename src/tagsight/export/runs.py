"""Masks as run lengths, in the order and encoding of COCO."""

import numpy as np

from tagsight.types import Array, Ints


def measure_runs(values: Array) -> Ints:
    """Lengths of the runs of a flat boolean array, in turn off, on, off ...; the first may be 0."""
    ends = np.flatnonzero(values[1:] != values[:-1]) + 1
    runs = np.diff(ends, prepend=0, append=len(values))
    return np.concatenate([[0], runs]) if values[0] else runs


def encode_counts(mask: Array) -> str:
    """The runs of a mask (H, W) column by column, in the compressed text of COCO.

    From the fourth run on, the difference from the run two before is encoded. Numbers have five bits per character,
    lowest first, plus 32 if more follow and plus 48 in all. The highest bit of the last character is the sign.
    """
    runs = measure_runs(mask.ravel(order="F")).tolist()
    return "".join(_encode_number(run - runs[n - 2] if n > 2 else run) for n, run in enumerate(runs))


def _encode_number(number: int) -> str:
    text = ""
    while True:
        low, number = number & 31, number >> 5
        ended = number == (-1 if low & 16 else 0)
        text += chr(48 + low + (0 if ended else 32))
        if ended:
            return text
