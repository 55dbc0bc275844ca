"""Starts, stick sequences, orders and spans, compared by bound and by recovery of planted factors, five seeds each."""

import warnings
from statistics import mean
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

from record import write_result
from tagsight import StackedIBP
from tagsight.model.planted import Planted, draw_appearance, draw_planted

N_OBJECTS, N_ATTRIBUTES, N_FREE, D = 5, 8, 4, 64
TAGGED = N_OBJECTS + N_ATTRIBUTES
SEEDS = range(5)
SPARSITIES = (1.5, 4.0, 10.0)  # expected factors per region of the planted photos

CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "start=kmeans": {"start": "kmeans"},
    "start=random": {"start": "random"},
    "sticks=single": {"sticks": "single"},
    "sticks=single, free first": {"sticks": "single", "stick_order": "free-first"},
    "sticks=single, tagged first": {"sticks": "single", "stick_order": "tagged-first"},
    "per kind, fixed order": {"stick_order": "tagged-first"},
    "per kind, fixed order, all factors": {"stick_order": "tagged-first", "stick_span": "all"},
    "ranked, all factors": {"stick_span": "all"},
    "passes=2": {"passes": 2},
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [{"choice": name, **compare(parameters)} for name, parameters in CHOICES.items()]
    write_result("starts", {"seeds": len(SEEDS), "sparsities": SPARSITIES, "rows": rows})


def compare(parameters: dict[str, Any]) -> dict[str, float]:
    results = [recover(parameters, sparsity, seed) for sparsity in SPARSITIES for seed in SEEDS]
    return {
        "bound": mean(r["bound"] for r in results),
        "f1_train": min(r["f1_train"] for r in results),
        "f1_unseen": min(r["f1_unseen"] for r in results),
        "free_recovered": mean(r["free"] >= 0.9 for r in results),
        "sweeps": mean(r["sweeps"] for r in results),
    }


def recover(parameters: dict[str, Any], sparsity: float, seed: int) -> dict[str, float]:
    appearance = draw_appearance(TAGGED + N_FREE, D, seed=seed)

    def draw(n_photos: int, part: int) -> Planted:
        shape = {"n_photos": n_photos, "n_regions": 30}
        return draw_planted(appearance, N_FREE, **shape, noise=0.5, sparsity=sparsity, seed=seed + part)

    train, test = draw(300, 100), draw(100, 200)
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, seed=seed, **parameters)
    model.fit(train.X, train.tags, groups=train.groups, edges=train.edges)
    unseen = model.infer(test.X, groups=test.groups, edges=test.edges)
    correlation = np.corrcoef(appearance[TAGGED:], model.appearance_mean_[TAGGED:])[:N_FREE, N_FREE:]
    return {
        "bound": model.bound_[-1],
        "f1_train": f1(model.assign_, train),
        "f1_unseen": f1(unseen.assign, test),
        "free": float(correlation[linear_sum_assignment(-correlation)].min()),
        "sweeps": float(model.n_sweeps_),
    }


def f1(assign: Any, data: Planted) -> float:
    found, truth = assign[:, :TAGGED] > 0.5, data.assign[:, :TAGGED]
    return 2.0 * float(np.sum(found & truth)) / float(np.sum(found) + np.sum(truth))


if __name__ == "__main__":
    main()
