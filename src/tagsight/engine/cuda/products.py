"""The only two products that touch the features, and that of nu with itself.

Bfloat16 features are multiplied by sums of PARTS bfloat16 numbers, so that nothing but the features themselves is
rounded; sums are single precision, and over slots they go on in double precision after every block of them.
"""

# pyright: reportMissingImports=false

import torch
from torch import Tensor

from tagsight.engine.cuda.sum_kernel import sum_rows


def count_parts(dtype: torch.dtype) -> int:
    """How many numbers of the features' type stand for one of the other operand."""
    return 1 if dtype == torch.float32 else 2


def split_parts(values: Tensor, dtype: torch.dtype) -> Tensor:
    """(PARTS, ...) of `dtype` that sum to `values`, float32, all but exactly."""
    parts = [values.to(dtype)]
    if count_parts(dtype) == 2:
        parts.append((values - parts[0].float()).to(dtype))
    return torch.stack(parts)


def project(mean: Tensor, x: Tensor) -> Tensor:
    """Parts (PARTS, K, n) of phi X^T in single precision, from the parts of phi."""
    parts, K, D = mean.shape
    return _multiply(mean.view(1, parts * K, D), x.T[None]).view(parts, K, -1)


def sum_products(dense: Tensor, x: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """nu^T nu (K, K) and nu^T X (K, D) in double precision.

    `dense` (PARTS, K, n) are the parts of nu^T and `x` (n, D) the same slots of X, whole blocks of them.
    """
    parts, K, n = dense.shape
    D, n_blocks = x.shape[1], n // block
    blocks = dense.view(parts * K, n_blocks, block).transpose(0, 1)
    pair = sum_rows(_multiply(blocks, blocks.transpose(1, 2)).view(n_blocks * parts, K * parts * K))
    cross = sum_rows(_multiply(blocks, x.view(n_blocks, block, D)).view(n_blocks * parts, K * D))
    return pair.view(K, parts, K).sum(dim=1), cross.view(K, D)


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    """Batches of matrix products, in single precision whatever the operands."""
    if a.dtype == torch.float32:
        return torch.bmm(a, b)
    if a.device.type == "cpu":
        return torch.bmm(a.float(), b.float())
    return torch.bmm(a, b, out_dtype=torch.float32)
