"""Linear scores of many tags at once, each learned on its own."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tagsight.classifiers.regression import Linear
from tagsight.types import Array

SVM_PENALTIES = (0.1, 1.0, 10.0)  # C, for vectors whose mean square length is one


def train_svms(X: Array, truth: Array, penalty: float, *, seed: int) -> Linear:
    """A linear SVM for each column of `truth` (n, K); a column with one class only gets no direction.

    The two classes weigh alike, however few the rarer one has.
    """
    weights = np.zeros((X.shape[1], truth.shape[1]))
    offset = np.zeros(truth.shape[1])
    doubles = X.astype(np.float64)
    for k, has in enumerate(truth.T):
        if 0 < has.sum() < len(has):
            machine = LinearSVC(C=penalty, dual=False, class_weight="balanced", random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # cross-validation judges what it reached
                machine.fit(doubles, has)
            weights[:, k], offset[k] = machine.coef_[0], machine.intercept_[0]
    return Linear(weights, offset)
