"""Copies of content with one bit changed."""

from collections.abc import Iterator

import numpy as np


def flip_bits(content: bytes, n: int, *, seed: int = 0) -> Iterator[bytes]:
    """`n` copies of `content`, each with one bit changed at a random position."""
    rng = np.random.default_rng(seed)
    for place in rng.choice(8 * len(content), min(n, 8 * len(content)), replace=False).tolist():
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        yield bytes(flipped)
