from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

class KMeans:
    cluster_centers_: NDArray[Any]
    def __init__(
        self,
        n_clusters: int,
        *,
        n_init: int,
        init: str | ArrayLike = "k-means++",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | None = None,
    ) -> None: ...
    def fit(self, X: ArrayLike) -> Self: ...

def kmeans_plusplus(
    X: ArrayLike, n_clusters: int, *, random_state: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]: ...
