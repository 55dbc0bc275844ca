"""k-means whose answer depends on the data and the seed alone."""

import warnings
from typing import Any

from threadpoolctl import threadpool_limits

from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array, Floats


def find_centres(rows: Array, n_clusters: int, **options: Any) -> Floats:
    """(n_clusters, D) centres of `rows` (n, D), by scikit-learn's KMeans with one start and `options`.

    Its threads add their sums in the order in which they finish, so it gets one thread.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters leave some unused
        return KMeans(n_clusters, n_init=1, **options).fit(rows).cluster_centers_
