"""Copies of several arrays at once to and from the GPU, through page-locked memory, which the GPU accesses directly."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagsight.types import Array, Floats


def pack(arrays: Sequence[Floats], device: torch.device) -> Tensor:
    """Return the arrays concatenated in double precision, in memory from which `device` can copy."""
    staged = _staging(sum(array.size for array in arrays), device)
    np.concatenate([array.ravel() for array in arrays], out=staged.numpy())
    return staged


def cut(flat: Tensor, like: Sequence[Floats]) -> list[Tensor]:
    """Split the result of `pack` into views of `flat` with the shapes of the arrays `like`."""
    parts = flat.split([array.size for array in like])
    return [part.view(array.shape) for part, array in zip(parts, like, strict=True)]


def join(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors concatenated."""
    return torch.cat([tensor.flatten() for tensor in tensors])


def fetch(flat: Tensor, like: Sequence[Tensor]) -> list[Array]:
    """Copy the result of `join`, of double precision, to this process, split into the shapes of `like`."""
    staged = _staging(len(flat), flat.device).copy_(flat, non_blocking=True)
    if flat.is_cuda:
        torch.cuda.current_stream(flat.device).synchronize()
    parts = staged.split([tensor.numel() for tensor in like])
    return [part.view(tensor.shape).numpy() for part, tensor in zip(parts, like, strict=True)]


def _staging(size: int, device: torch.device) -> Tensor:
    """Return page-locked memory of the host; PyTorch reuses freed memory, so repeated calls are cheap."""
    return torch.empty(size, dtype=torch.float64, pin_memory=device.type == "cuda")
