from collections.abc import Callable
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

class FastICA:
    components_: NDArray[Any]
    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: str = "unit-variance",
        fun: str | Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]] = "logcosh",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: int | None = None,
    ) -> None: ...
    def fit(self, X: ArrayLike) -> Self: ...
    def transform(self, X: ArrayLike) -> NDArray[Any]: ...
