"""The only two products that touch the features, and that of nu with itself.

Half-precision operands are multiplied with single-precision sums; sums over slots go on in double precision
after every BLOCK of them, so that millions of regions lose nothing.
"""

import torch
from torch import Tensor

from tagsight.engine.cuda.resident import BLOCK


def project(mean: Tensor, x: Tensor) -> Tensor:
    """phi X^T (K, n) in single precision."""
    return _multiply(mean[None], x.T[None])[0]


def sum_products(dense: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """nu^T nu (K, K) and nu^T X (K, D) in double precision, from nu^T `dense` (K, n) and the same slots of X (n, D)."""
    K, n = dense.shape
    blocks = dense.view(K, n // BLOCK, BLOCK).transpose(0, 1)
    pair = _multiply(blocks, blocks.transpose(1, 2))
    cross = _multiply(blocks, x.view(n // BLOCK, BLOCK, -1))
    return pair.sum(dim=0, dtype=torch.float64), cross.sum(dim=0, dtype=torch.float64)


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    """Batches of matrix products, in single precision whatever the operands."""
    if a.dtype == torch.float32:
        return torch.bmm(a, b)
    if a.device.type == "cpu":
        return torch.bmm(a.float(), b.float())
    return torch.bmm(a, b, out_dtype=torch.float32)
