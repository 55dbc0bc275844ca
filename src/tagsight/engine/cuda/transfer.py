"""Arrays to the GPU and back, many at a time in one copy through page-locked memory, which the GPU reads by itself."""

# pyright: reportMissingImports=false

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagsight.types import Array, Floats


def pack(arrays: Sequence[Floats], device: torch.device) -> Tensor:
    """The arrays one after another in double precision, in memory from which `device` can copy."""
    staged = _staging(sum(array.size for array in arrays), device)
    np.concatenate([array.ravel() for array in arrays], out=staged.numpy())
    return staged


def cut(flat: Tensor, like: Sequence[Floats]) -> list[Tensor]:
    """What `pack` put together, as views of `flat`, shaped like the arrays it was made of."""
    parts = flat.split([array.size for array in like])
    return [part.view(array.shape) for part, array in zip(parts, like, strict=True)]


def join(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors one after another."""
    return torch.cat([tensor.flatten() for tensor in tensors])


def fetch(flat: Tensor, like: Sequence[Tensor]) -> list[Array]:
    """What `join` put together in double precision, in this process's memory."""
    staged = _staging(len(flat), flat.device).copy_(flat, non_blocking=True)
    if flat.is_cuda:
        torch.cuda.current_stream(flat.device).synchronize()
    parts = staged.split([tensor.numel() for tensor in like])
    return [part.view(tensor.shape).numpy() for part, tensor in zip(parts, like, strict=True)]


def _staging(size: int, device: torch.device) -> Tensor:
    """Page-locked memory of the host; PyTorch keeps what was freed, so that a second time costs nothing."""
    return torch.empty(size, dtype=torch.float64, pin_memory=device.type == "cuda")
