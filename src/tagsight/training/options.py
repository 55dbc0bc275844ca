"""The options of a training, each declared here and nowhere else."""

from dataclasses import dataclass, fields
from typing import Any, Self

from tagsight.classifiers.score import ClassifierWeights
from tagsight.engine.devices import ComputeTarget
from tagsight.errors import InputError
from tagsight.features.photo_features import MAX_REGIONS, N_REGIONS
from tagsight.model.settings import MAX_FREE, NOISES, PRESETS, check_shrinkage
from tagsight.model.start import STARTS
from tagsight.model.validation import MAX_WORKERS, check_between, check_choice

DEFAULT_WEIGHTS = ClassifierWeights()
ATTRIBUTES_OF = ("regions", "objects")
MAX_SEED = 2**32 - 1  # of scikit-learn's generators
MAX_STRENGTH = 1e6  # of either field
MAX_PHOTO_PRIOR = 1e6
WITHOUT_CLASSIFIERS = ("photo_effect", "attributes_of", "photo_prior")  # options that exclude region classifiers


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of a training, with their defaults.

    The command line, the Python API, checkpoints, the demo and the benchmark all use this record. It is checked where
    training begins, by `check_options`.
    """

    features: str = "deep"
    """Features of a region: `deep`, `deep-small`, `classic`, or the path of an ONNX backbone."""

    n_regions: int = N_REGIONS
    """Regions that a photo is segmented into, at most."""

    n_free: int = 20
    """Free factors: those that are learned beside the tags."""

    coupling: float = 1.0
    """Strength beta of the field between neighbouring regions; 0 switches it off."""

    affinity: float = 1.0
    """Strength rho of the field within a region; 0 switches it off."""

    learn_affinity: bool = True
    """Whether the correlation matrix M of the field within a region is re-estimated in every sweep."""

    centred: bool = False
    """Whether the field within a region acts on deviations from the photo's mean (see `model.fields`)."""

    noise: str = "isotropic"
    """Covariance of the model's noise: `isotropic` or `full` (see `model.noise`)."""

    exclusive: bool = False
    """Whether at most one object or free factor can be on in a region."""

    shrinkage: float | None = None
    """Strength of the prior that draws appearances towards zero, in regions; None: learned."""

    attribute_shrinkage: float | None = None
    """The same for attributes; None: equal to `shrinkage`."""

    start: str = "tags"
    """How assignments are initialised: `tags`, `activation`, `kmeans` or `random` (see `model.start`)."""

    photo_effect: float = 0.0
    """Fraction of a photo's mean vector subtracted from its regions, 0 to 1; needs `classifiers=False`."""

    attributes_of: str = "regions"
    """What an attribute describes: `regions` or `objects`; `objects` needs `classifiers=False`."""

    photo_prior: float | None = None
    """Exponent kappa of the photo-level prior of objects; None: no such prior; needs `classifiers=False`."""

    classifiers: bool = True
    """Whether region classifiers are trained, and predict; if not, the model's posterior predicts."""

    weights: ClassifierWeights = DEFAULT_WEIGHTS
    """Weights of the parts of the region classifiers."""

    seed: int = 0
    """Seed of every random choice."""

    device: str = "cpu"
    """Device of the built-in backbones and of the model: `cpu`, `cuda` or `cuda-bf16`."""

    engine: str = "local"
    """`local`, or `ray`: features are extracted and the model is fitted on a Ray cluster."""

    address: str | None = None
    """Address of the Ray cluster; None: a cluster is started on this machine."""

    n_workers: int | None = None
    """Processes that extract features, and threads or actors that fit; None: one per processor."""

    memory: int | None = None
    """Bytes of memory that this process may use; None: no limit."""

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """The options of one of the paper's models (`model.settings.PRESETS`), with some of them changed."""
        check_choice(name, "preset", tuple(PRESETS))
        options: dict[str, Any] = {**PRESETS[name], "classifiers": False, **changes}
        return cls(**options)

    @property
    def target(self) -> ComputeTarget:
        """Where the model is fitted."""
        return ComputeTarget(self.device, self.engine, self.n_workers)


def check_options(options: TrainOptions) -> None:
    """Raise InputError for a value that no training accepts, or values that exclude each other."""
    check_between(options.n_free, "the number of free factors", 0, MAX_FREE)
    check_between(options.n_regions, "the number of regions", 1, MAX_REGIONS)
    check_between(options.coupling, "coupling", 0, MAX_STRENGTH)
    check_between(options.affinity, "affinity", 0, MAX_STRENGTH)
    check_between(options.seed, "seed", 0, MAX_SEED)
    check_choice(options.noise, "noise", NOISES)
    check_choice(options.start, "start", tuple(STARTS))
    check_shrinkage(options.shrinkage, options.attribute_shrinkage)
    check_between(options.photo_effect, "photo_effect", 0, 1)
    check_choice(options.attributes_of, "attributes_of", ATTRIBUTES_OF)
    if options.photo_prior is not None:
        check_between(options.photo_prior, "photo_prior", 0, MAX_PHOTO_PRIOR)
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
