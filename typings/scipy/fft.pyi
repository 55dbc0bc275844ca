from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

def rfft2(x: ArrayLike) -> NDArray[Any]: ...
def irfft2(x: ArrayLike, s: Sequence[int] | None = None) -> NDArray[Any]: ...
