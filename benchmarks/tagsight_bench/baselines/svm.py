"""Linear SVMs, one per tag."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tagsight.classifiers.regression import Linear
from tagsight.types import Array

SVM_PENALTIES = (0.1, 1.0, 10.0)  # C, for vectors of unit mean square length


def fit_svms(X: Array, truth: Array, penalty: float, *, seed: int) -> Linear:
    """Class-balanced linear SVMs for the columns of `truth` (n, K); a column with a single class gets zero weights."""
    weights = np.zeros((X.shape[1], truth.shape[1]))
    offset = np.zeros(truth.shape[1])
    doubles = X.astype(np.float64)
    for k, has in enumerate(truth.T):
        if 0 < has.sum() < len(has):
            svm = LinearSVC(C=penalty, dual=False, class_weight="balanced", random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # cross-validation evaluates the result as it is
                svm.fit(doubles, has)
            weights[:, k], offset[k] = svm.coef_[0], svm.intercept_[0]
    return Linear(weights, offset)
