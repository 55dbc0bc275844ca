from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator

def check_is_fitted(estimator: BaseEstimator) -> None: ...
def validate_data(
    _estimator: BaseEstimator,
    X: ArrayLike,
    *,
    reset: bool = True,
    dtype: DTypeLike | Sequence[DTypeLike] = "numeric",
    ensure_all_finite: bool = True,
) -> NDArray[Any]: ...
