"""The factors of a model: kind, frequency, and correlation with other factors."""

from typing import Any, NamedTuple

import numpy as np

from tagsight.model.fields import correlate
from tagsight.predict.object_attributes import complete_counts
from tagsight.predict.trained_model import TrainedModel

N_CORRELATED = 5  # factors listed with each factor, at most
WEAKEST = 0.02  # smallest correlation that is listed


class Factor(NamedTuple):
    """One factor, a column of the model."""

    name: str
    kind: str  # object, attribute or free
    share: float  # of the training regions in which it is on
    correlated: tuple[tuple[str, float], ...]  # other factors and their correlation over regions, strongest first

    def to_json(self) -> dict[str, Any]:
        """The JSON value that `factors --json` prints."""
        correlated = [{"name": name, "correlation": value} for name, value in self.correlated]
        return {"name": self.name, "kind": self.kind, "share": self.share, "correlated": correlated}


def list_factors(model: TrainedModel) -> list[Factor]:
    """All factors in column order."""
    summary, factors = model.predictor.parts.learned.summary, model.predictor.parts.learned.settings.factors
    count, pair = summary.count, summary.pair
    if model.predictor.parts.object_attributes:
        count, pair = complete_counts(model.predictor.parts.object_attributes, model.predictor.parts.learned)
    correlation = correlate(count, pair, summary.n_regions)
    kinds = ["object"] * factors.objects + ["attribute"] * factors.attributes + ["free"] * factors.free
    names = model.factor_names
    listed: list[Factor] = []
    for k, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        strongest: list[int] = np.argsort(-correlation[k], kind="stable")[:N_CORRELATED].tolist()
        correlated = tuple((names[m], float(correlation[k, m])) for m in strongest if correlation[k, m] > WEAKEST)
        listed.append(Factor(name, kind, float(count[k] / summary.n_regions), correlated))
    return listed
