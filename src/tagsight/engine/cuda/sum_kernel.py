"""Sums of single-precision blocks, in double precision and always in the same order."""

# pyright: standard, reportMissingImports=false

import triton
import triton.language as tl


@triton.jit
def add_rows(total, values, n, M, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Fill `total` (M,) with the column sums of `values` (n, M)."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    line = tl.arange(0, ROWS).to(tl.int64)
    found = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(0, n, ROWS):
        row = first + line
        inside = (row < n)[:, None] & (column < M)[None, :]
        found += tl.load(values + row[:, None] * M + column[None, :], mask=inside, other=0.0)
    tl.store(total + column, tl.sum(found, axis=0), mask=column < M)
