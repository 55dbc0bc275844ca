"""The options of a training.

Those of the model have the default of `model.settings` and the description of `StackedIBP`; all others are declared
here. The command line takes the defaults and the descriptions from these places.
"""

from dataclasses import dataclass, fields
from typing import Any, Self, TypedDict

from tagsight.classifiers.score import ClassifierWeights
from tagsight.classifiers.smoothing import MAX_SMOOTHING
from tagsight.engine.devices import ComputeTarget
from tagsight.errors import InputError
from tagsight.features.photo_features import MAX_REGIONS, N_REGIONS
from tagsight.model.object_attributes import ATTRIBUTE_PRIORS
from tagsight.model.settings import DEFAULTS, MAX_FREE, NOISES, PRESETS, SEED, check_shrinkage
from tagsight.model.start import START, STARTS
from tagsight.model.validation import MAX_WORKERS, check_between, check_choice

DEFAULT_WEIGHTS = ClassifierWeights()
TARGET = ComputeTarget()
ATTRIBUTES_OF = ("regions", "objects", "both")
MAX_SEED = 2**32 - 1  # of scikit-learn's generators
MAX_STRENGTH = 1e6  # of either field
MAX_PHOTO_PRIOR = 1e6
WITHOUT_CLASSIFIERS = ("photo_effect", "attributes_of", "photo_prior", "smoothing")  # exclude region classifiers

# The models without region classifiers. Those of `StackedIBP` are the paper's. `ws-mrf-sibp` has at most one object in
# a region, and both fields in another form: the spatial one over similar regions of new photos (`smoothing`), and that
# between objects and attributes as P(attribute | object). docs/explanation/model.md, section 14, describes it and how
# its numbers were chosen.
TRAIN_PRESETS: dict[str, dict[str, Any]] = {
    **PRESETS,
    "ws-mrf-sibp": {
        "n_free": None,
        "coupling": 0.0,
        "affinity": 0.0,
        "exclusive": True,
        "noise": "full",
        "shrinkage": 10.0,
        "attribute_shrinkage": 5000.0,
        "start": None,
        "photo_effect": 0.6,
        "attributes_of": "both",
        "photo_prior": 30.0,
        "smoothing": 0.7,
    },
}
PRESET_OPTIONS = frozenset(name for preset in TRAIN_PRESETS.values() for name in preset)


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of a training.

    The command line, the Python API, checkpoints, the demo and the benchmark all use this record. It is checked where
    training begins, by `check_options`.

    The parameters of `tagsight.StackedIBP` among the options are described there: `n_free`, `coupling`, `affinity`,
    `learn_affinity`, `centred`, `noise`, `exclusive`, `shrinkage`, `attribute_shrinkage`, `start` and `seed`.

    `n_free=None` chooses 10 free factors, or none if the tags cover the photos. `start=None` chooses `tags`, or
    `activation` if the tags cover the photos.

    `memory` is in bytes here; `tagsight.train` and the command line accept text such as `2GB`.

    Attributes:
        features: Features of regions: `deep`, `deep-small`, `classic`, or the path of an ONNX network.
        n_regions: Number of regions that a photo is segmented into, at most.
        photo_effect: Fraction of a photo's mean vector to subtract from its regions, 0 to 1. Only without region
            classifiers, as with a preset.
        attributes_of: What has attributes in the model: `regions`, `objects` or `both`. With `both`, attributes of
            regions only help to localise objects. `objects` and `both` only without region classifiers, as with a
            preset.
        attribute_prior: P(attribute | object) of attributes of objects: `learned` assigns each attribute tag to the
            objects that tend to have it, `tags` to all objects of the photo, `equal` is the same for all objects.
        photo_prior: Exponent of the photo-level prior of objects, such as 30. Only without region classifiers, as with
            a preset. Default: no prior.
        smoothing: Strength of the spatial field over similar regions of a new photo, from 0 to below 1, such as 0.7.
            Only without region classifiers, as with a preset: they smooth by `weights`.
        classifiers: Whether region classifiers are trained, and predict; if not, the model's posterior predicts.
        weights: Weights of the parts of the region classifiers.
        device: Device of the network and the model: `cpu`, `cuda` or `cuda-bf16`.
        engine: Where to compute: `local` on this machine, or `ray` on a Ray cluster.
        address: Address of the Ray cluster to join. Default: a cluster started on this machine.
        n_workers: Number of worker processes, threads or actors. Default: one per processor.
        memory: Memory that this process may use, such as 2GB. Default: no limit.
    """

    features: str = "deep"
    n_regions: int = N_REGIONS
    n_free: int | None = DEFAULTS.factors.free
    coupling: float = DEFAULTS.coupling
    affinity: float = DEFAULTS.affinity
    learn_affinity: bool = DEFAULTS.learn_affinity
    centred: bool = DEFAULTS.centred
    noise: str = DEFAULTS.noise
    exclusive: bool = DEFAULTS.exclusive
    shrinkage: float | None = DEFAULTS.shrinkage
    attribute_shrinkage: float | None = DEFAULTS.attribute_shrinkage
    start: str | None = START
    photo_effect: float = 0.0
    attributes_of: str = "regions"
    attribute_prior: str = "learned"
    photo_prior: float | None = None
    smoothing: float = 0.0
    classifiers: bool = True
    weights: ClassifierWeights = DEFAULT_WEIGHTS
    seed: int = SEED
    device: str = TARGET.device
    engine: str = TARGET.engine
    address: str | None = None
    n_workers: int | None = TARGET.n_workers
    memory: int | None = None

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """The options of a preset (`TRAIN_PRESETS`), with some of them changed."""
        check_choice(name, "preset", tuple(TRAIN_PRESETS))
        options: dict[str, Any] = {**TRAIN_PRESETS[name], "classifiers": False, **changes}
        return cls(**options)

    @property
    def target(self) -> ComputeTarget:
        """Where the model is fitted."""
        return ComputeTarget(self.device, self.engine, self.n_workers)


class TrainArguments(TypedDict, total=False):
    """The fields of `TrainOptions` as keyword arguments of `tagsight.train`, for type checkers."""

    features: str
    n_regions: int
    n_free: int | None
    coupling: float
    affinity: float
    learn_affinity: bool
    centred: bool
    noise: str
    exclusive: bool
    shrinkage: float | None
    attribute_shrinkage: float | None
    start: str | None
    photo_effect: float
    attributes_of: str
    attribute_prior: str
    photo_prior: float | None
    smoothing: float
    classifiers: bool
    weights: ClassifierWeights
    seed: int
    device: str
    engine: str
    address: str | None
    n_workers: int | None
    memory: int | str | None  # text such as 2GB is converted to bytes


def check_options(options: TrainOptions) -> None:
    """Raise InputError for a value that no training accepts, or values that exclude each other."""
    if options.n_free is not None:
        check_between(options.n_free, "the number of free factors", 0, MAX_FREE)
    check_between(options.n_regions, "the number of regions", 1, MAX_REGIONS)
    check_between(options.coupling, "coupling", 0, MAX_STRENGTH)
    check_between(options.affinity, "affinity", 0, MAX_STRENGTH)
    check_between(options.seed, "seed", 0, MAX_SEED)
    check_choice(options.noise, "noise", NOISES)
    if options.start is not None:
        check_choice(options.start, "start", tuple(STARTS))
    check_shrinkage(options.shrinkage, options.attribute_shrinkage)
    check_between(options.photo_effect, "photo_effect", 0, 1)
    check_choice(options.attributes_of, "attributes_of", ATTRIBUTES_OF)
    check_choice(options.attribute_prior, "attribute_prior", ATTRIBUTE_PRIORS)
    if options.photo_prior is not None:
        check_between(options.photo_prior, "photo_prior", 0, MAX_PHOTO_PRIOR)
    check_between(options.smoothing, "smoothing", 0, MAX_SMOOTHING)
    if options.n_workers is not None:
        check_between(options.n_workers, "the number of workers", 1, MAX_WORKERS)
    _check_classifiers(options)
    _check_memory(options)


def _check_classifiers(options: TrainOptions) -> None:
    """Region classifiers expect vectors of unit length, and predict attributes and photo-level objects themselves."""
    for field in fields(options):
        value = getattr(options, field.name)
        if options.classifiers and field.name in WITHOUT_CLASSIFIERS and value != field.default:
            raise InputError(
                f"{field.name} {value} needs a model without region classifiers: set classifiers=False "
                f"(--preset of 'tagsight train' does), or leave {field.name} out"
            )


def _check_memory(options: TrainOptions) -> None:
    if options.memory is None:
        return
    if options.device != "cpu":
        raise InputError(f"memory limits device 'cpu'; {options.device!r} holds all features: leave one of them out")
    if options.engine != "local":
        raise InputError(f"memory limits this machine; engine {options.engine!r} uses others: leave one of them out")
