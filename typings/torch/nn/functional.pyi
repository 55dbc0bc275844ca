from collections.abc import Sequence

from torch import Tensor

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = ...,
    padding: tuple[int, int] = ...,
    *,
    groups: int = 1,
) -> Tensor: ...
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    *,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
) -> Tensor: ...
def pad(input: Tensor, pad: Sequence[int]) -> Tensor: ...
