"""The registry of methods.

A method is a class with the interface `evaluation.method.Method`, named by `module:Class` and constructed with
`parameters`. A method with stronger supervision takes it as its first argument: the `Instances` of each photo for
boxes, its label map for masks. A tuned one also takes `masks`, with None for photos without. A class that is not in
this table can be measured by its name `module:Class`, with tags only.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, NamedTuple

from tagsight.errors import InputError
from tagsight.training.options import TRAIN_PRESETS
from tagsight_bench.evaluation.method import Method
from tagsight_bench.trial import Sample

Supervision = Literal["tags", "boxes", "masks"]
WEAK_TABLES = frozenset({"annotation", "queries", "outlines", "segmentation", "inductive", "transductive", "predict"})
SHARE_TABLES = frozenset({"refined"})  # these need P(object | region) that add up to at most one


class Entry(NamedTuple):
    """A method that can be measured."""

    place: str  # module:Class
    parameters: Mapping[str, Any] = {}
    supervision: Supervision = "tags"
    tables: frozenset[str] = WEAK_TABLES
    joint: bool = False  # attributes change its segmentation, which is measured with every attribute set
    tuned: bool = False  # masks of training photos choose a threshold


TAGSIGHT = "tagsight_bench.tagsight_method:StackedIBPMethod"

METHODS: dict[str, Entry] = {
    "wsvm": Entry("tagsight_bench.baselines.wsvm:PhotoSVM"),
    "miml": Entry("tagsight_bench.baselines.miml:MimlBoost"),
    "wlda": Entry("tagsight_bench.baselines.wlda:WeakLDA"),
    "wsdc": Entry("tagsight_bench.baselines.wsdc:DualClustering"),
    "activation": Entry("tagsight_bench.baselines.activation:ClassActivation", tuned=True),
    "tagsight": Entry(TAGSIGHT, tables=WEAK_TABLES | SHARE_TABLES, joint=True),
    **{
        name: Entry(
            TAGSIGHT, {**TRAIN_PRESETS[name], "classifiers": False}, tables=WEAK_TABLES | SHARE_TABLES, joint=True
        )
        for name in ("ws-sibp", "additive", "ws-mrf-sibp")
    },
    "ssvm": Entry("tagsight_bench.baselines.ssvm:BoxSVM", {}, "boxes", frozenset({"annotation", "queries"})),
    "supervised": Entry(
        "tagsight_bench.baselines.supervised:MaskClassifier",
        {},
        "masks",
        frozenset({"segmentation", "inductive"}) | SHARE_TABLES,
    ),
}
"""By name, in the order of the tables: weakly supervised methods, tagsight, strongly supervised methods."""


def _change_model(preset: str, **parameters: Any) -> Entry:
    return Entry(TAGSIGHT, {**METHODS[preset].parameters, **parameters}, joint=True)


def _change_weights(**weights: float) -> Entry:
    return Entry(TAGSIGHT, {"weights": weights}, joint=True)


MODEL_ABLATIONS: dict[str, Entry] = {
    name: _change_model("ws-mrf-sibp", **parameters)
    for name, parameters in {
        "no-spatial-field": {"smoothing": 0.0},
        "weaker-spatial-field": {"smoothing": 0.5},
        "stronger-spatial-field": {"smoothing": 0.85},
        "no-region-field": {"attribute_prior": "equal"},
        "frozen-affinity": {"attribute_prior": "tags"},
        "neighbour-field": {"coupling": 0.4},
        "isotropic-noise": {"noise": "isotropic"},
        "no-photo-effect": {"photo_effect": 0.0},
        "no-photo-prior": {"photo_prior": None},
        "learned-shrinkage": {"shrinkage": None, "attribute_shrinkage": None},
        "attributes-of-regions": {"attributes_of": "regions"},
        "attributes-of-objects": {"attributes_of": "objects"},
        "start-at-tags": {"start": "tags"},
        "start-at-activations": {"start": "activation"},
        "no-free-factors": {"n_free": 0},
        "20-free-factors": {"n_free": 20},
    }.items()
}
"""The preset `ws-mrf-sibp` with one change."""

ADDITIVE_ABLATIONS: dict[str, Entry] = {
    f"additive-{name}": _change_model("additive", **parameters)
    for name, parameters in {
        "no-spatial-field": {"coupling": 0.0},
        "no-region-field": {"affinity": 0.0},
        "plain-field": {"coupling": 0.3, "affinity": 0.05, "centred": False},
        "frozen-affinity": {"learn_affinity": False},
        "no-free-factors": {"n_free": 0},
        "5-free-factors": {"n_free": 5},
        "50-free-factors": {"n_free": 50},
        "full-noise": {"noise": "full"},
    }.items()
}
"""The paper's additive model, preset `additive`, with one change; `plain-field` has its own strengths."""

NO_FIELDS = {"coupling": 0.0, "affinity": 0.0}

DEFAULT_ABLATIONS: dict[str, Entry] = {
    "no-fields": Entry(TAGSIGHT, NO_FIELDS, joint=True),
    "no-fields-at-all": Entry(
        TAGSIGHT,
        {**NO_FIELDS, "weights": {"smoothing": 0.0, "attribute_likelihood": 0.0, "attribute_prior": 0.0}},
        joint=True,
    ),
    "no-model": _change_weights(model=0.0),
    "no-smoothing": _change_weights(smoothing=0.0),
    "no-attribute-distance": Entry(
        TAGSIGHT, {"weights": {"attribute_distance": 0.0}}, tables=frozenset({"segmentation"}), joint=True
    ),
    "no-attribute-likelihood": _change_weights(attribute_likelihood=0.0),
    "no-height-prior": _change_weights(height=0.0),
    "no-photo-classifier": _change_weights(photo_classifier=0.0),
    "no-attribute-prior": Entry(
        TAGSIGHT, {"weights": {"attribute_prior": 0.0}}, tables=frozenset({"annotation", "queries"}), joint=True
    ),
    "by-region": Entry(TAGSIGHT, {"whole": False}, tables=frozenset({"annotation"}), joint=True),
}
"""The default of `tagsight train` with one change.

`no-fields` leaves out the two fields of the model. `no-fields-at-all` also leaves out their counterparts in the region
classifiers: smoothing between regions, and the attribute likelihood and attribute prior within a region. `by-region`
describes an object by its most probable region, as the other methods do.
"""

ABLATIONS = {**MODEL_ABLATIONS, **ADDITIVE_ABLATIONS, **DEFAULT_ABLATIONS}


def find_entry(name: str) -> Entry:
    """The entry with a name, or for a `module:Class`."""
    known = {**METHODS, **ABLATIONS}
    if name in known:
        return known[name]
    module, _, attribute = name.partition(":")
    if all(part.isidentifier() for part in (*module.split("."), attribute)):
        return Entry(name)
    raise InputError(f"there is no method {name!r}; choose one of {', '.join(known)}, or give module:Class")


def make_method(name: str, entry: Entry, sample: Sample) -> Method:
    """The method before its fit, constructed with the supervision of the sample that it may use."""
    masks = tuple(mask for mask in sample.masks if mask is not None)
    truth = {"tags": (), "boxes": (sample.instances,), "masks": (masks,)}[entry.supervision]
    module, _, attribute = entry.place.partition(":")
    try:
        maker = getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as problem:
        raise InputError(f"method {name!r} should be {entry.place}, which cannot be imported: {problem}") from problem
    tuning = {"masks": sample.masks} if entry.tuned else {}
    return maker(*truth, **entry.parameters, **tuning)
