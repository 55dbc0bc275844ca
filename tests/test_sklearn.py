"""scikit-learn's common estimator checks, on the model without tagged factors (they know no tags)."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from tagsight import StackedIBP

CANNOT_APPLY = {
    "check_fit_score_takes_y": "the second argument of fit is named tags: one row a photo, not a region",
}


def explain_failures(estimator: Any) -> dict[str, str]:
    return CANNOT_APPLY


@parametrize_with_checks([StackedIBP(n_free=3, n_threads=1, tol=1e-4)], expected_failed_checks=explain_failures)
def test_common_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)
