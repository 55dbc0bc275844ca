"""The two products that use the features, and the product of nu with itself.

With bfloat16 features the other operand is a sum of PARTS bfloat16 numbers, so that only the features are rounded. Sums
are in single precision; sums over slots are in double precision from one block of slots to the next.
"""

import torch
import triton
from torch import Tensor

from tagsight.engine.cuda.sum_kernel import add_rows

ROWS, COLUMNS = 16, 256  # of a tile of `add_rows`


def count_parts(dtype: torch.dtype) -> int:
    """Return how many numbers of the features' type represent one number of the other operand."""
    return 1 if dtype == torch.float32 else 2


def split_parts(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (PARTS, ...) of `dtype` that sum to the float32 `values`, nearly exactly."""
    parts = [values.to(dtype)]
    if count_parts(dtype) == 2:
        parts.append((values - parts[0].float()).to(dtype))
    return torch.stack(parts)


def project(mean: Tensor, x: Tensor) -> Tensor:
    """Return the parts (PARTS, K, n) of phi X^T in single precision, from the parts of phi."""
    parts, K, D = mean.shape
    return _multiply(mean.view(1, parts * K, D), x.T[None]).view(parts, K, -1)


def sum_products(dense: Tensor, x: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """Return nu^T nu (K, K) and nu^T X (K, D) in double precision.

    `dense` (PARTS, K, n) are the parts of nu^T and `x` (n, D) the same slots of X; n is a multiple of `block`.
    """
    parts, K, n = dense.shape
    D, n_blocks = x.shape[1], n // block
    blocks = dense.view(parts * K, n_blocks, block).transpose(0, 1)
    pair = sum_rows(_multiply(blocks, blocks.transpose(1, 2)).view(n_blocks * parts, K * parts * K))
    cross = sum_rows(_multiply(blocks, x.view(n_blocks, block, D)).view(n_blocks * parts, K * D))
    return pair.view(K, parts, K).sum(dim=1), cross.view(K, D)


def sum_rows(values: Tensor) -> Tensor:
    """Return the column sums (M,), float64, of `values` (n, M), contiguous float32.

    PyTorch's own sum would first copy all of `values` to double precision.
    """
    n, M = values.shape
    total = torch.empty(M, dtype=torch.float64, device=values.device)
    add_rows[(triton.cdiv(M, COLUMNS),)](total, values, n, M, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4)
    return total


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return batches of matrix products in single precision, for operands of any type."""
    if a.dtype == torch.float32:
        return torch.bmm(a, b)
    if a.device.type == "cpu":
        return torch.bmm(a.float(), b.float())
    return torch.bmm(a, b, out_dtype=torch.float32)
