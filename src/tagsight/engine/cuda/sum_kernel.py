"""Sums of single-precision blocks, in double precision and always in the same order."""

# pyright: reportMissingImports=false, reportPossiblyUnboundVariable=false, reportIndexIssue=false

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 16, 256  # of a tile


def sum_rows(values: Tensor) -> Tensor:
    """Return the column sums (M,), float64, of `values` (n, M), contiguous float32.

    PyTorch's own sum would first copy all of `values` to double precision.
    """
    n, M = values.shape
    total = torch.empty(M, dtype=torch.float64, device=values.device)
    _add_rows[(triton.cdiv(M, COLUMNS),)](total, values, n, M, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4)
    return total


@triton.jit
def _add_rows(total, values, n, M, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    line = tl.arange(0, ROWS).to(tl.int64)
    found = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(0, n, ROWS):
        row = first + line
        inside = (row < n)[:, None] & (column < M)[None, :]
        found += tl.load(values + row[:, None] * M + column[None, :], mask=inside, other=0.0)
    tl.store(total + column, tl.sum(found, axis=0), mask=column < M)
