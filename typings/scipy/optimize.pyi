from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

class OptimizeResult(dict[str, Any]):
    x: NDArray[np.float64]
    fun: float
    success: bool
    message: str

# With jac=True `fun` returns the loss and its gradient.
def minimize(
    fun: Callable[..., tuple[float, NDArray[Any]]],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    jac: Literal[True],
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
    tol: float | None = None,
    options: Mapping[str, float] | None = None,
) -> OptimizeResult: ...
def minimize_scalar(
    fun: Callable[[float], float],
    bracket: tuple[float, ...] | None = None,
    bounds: tuple[float, float] | None = None,
    *,
    method: str | None = None,
    options: Mapping[str, float] | None = None,
) -> _ScalarResult: ...

class _ScalarResult(dict[str, Any]):
    x: float
    fun: float
    success: bool

def nnls(A: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], float]: ...
def approx_fprime(xk: ArrayLike, f: Callable[[NDArray[np.float64]], float], epsilon: float) -> NDArray[np.float64]: ...
def linear_sum_assignment(
    cost_matrix: ArrayLike, maximize: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
