"""scikit-learn's common estimator checks, on the model without tagged factors (they know no tags)."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tagsight import StackedIBP

NOT_APPLICABLE = {
    "check_fit_score_takes_y",  # the second argument of fit is named tags: one row per photo, not per region
    "check_array_api_input",  # the estimator works on NumPy arrays
}


def name_check(check: Any) -> str:
    return getattr(check, "func", check).__name__


CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(StackedIBP(n_free=3, n_threads=1, tol=1e-4))
    if name_check(check) not in NOT_APPLICABLE
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=[name_check(check) for _, check in CHECKS])
def test_common_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)
