"""tagsight train."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from tagsight.api import Model, train
from tagsight.cli.arguments import AsJson, CollectionFolder
from tagsight.cli.console import print_json, show_text
from tagsight.cli.options import (
    COLLECTION,
    COMPUTING,
    Address,
    Engine,
    Format,
    PhotoFolder,
    Split,
    SynonymFile,
    WordFile,
    Workers,
    option,
)
from tagsight.data.collection import Collection
from tagsight.engine.checkpoint import check_checkpoint_folder, checkpoint_folder, has_checkpoint, remove_checkpoint
from tagsight.review.decided import OpenArguments, open_decided
from tagsight.runtime.messages import print_message
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import check_output_file, is_model
from tagsight.training.options import TrainOptions

DEFAULTS = TrainOptions()
OPTIONS = {"preset", *(field.name for field in fields(TrainOptions))}  # of the training, among the arguments of `run`
MODEL = "Options of the model"


def preset_option(name: str, *flags: str, minimum: float | None = None) -> OptionInfo:
    """An option that a preset may set; on the command line None stands for its value, or the default."""
    default = getattr(DEFAULTS, name)
    if isinstance(default, bool):
        on, off = flags[0].split("/")
        default = (on if default else off).removeprefix("--")
    if isinstance(default, float):
        default = f"{default:g}"
    shown = "the preset's" if default is None else f"{default}, or the preset's"
    return option(name, *flags, panel=MODEL, minimum=minimum, show_default=shown)


Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Preset = Annotated[str | None, option("preset", panel=MODEL)]
Features = Annotated[str, option("features", panel=MODEL)]
Regions = Annotated[int, option("n_regions", "--regions", panel=MODEL, minimum=1)]
Free = Annotated[int | None, preset_option("n_free", "--free", minimum=0)]
Coupling = Annotated[float | None, preset_option("coupling", minimum=0)]
Affinity = Annotated[float | None, preset_option("affinity", minimum=0)]
Centred = Annotated[bool | None, preset_option("centred", "--centred/--no-centred")]
Noise = Annotated[str | None, preset_option("noise")]
Exclusive = Annotated[bool | None, preset_option("exclusive", "--exclusive/--no-exclusive")]
Shrinkage = Annotated[float | None, preset_option("shrinkage")]
AttributeShrinkage = Annotated[float | None, preset_option("attribute_shrinkage")]
Start = Annotated[str | None, preset_option("start")]
PhotoEffect = Annotated[float | None, preset_option("photo_effect")]
AttributesOf = Annotated[str | None, preset_option("attributes_of")]
PhotoPrior = Annotated[float | None, preset_option("photo_prior")]
Smoothing = Annotated[float | None, preset_option("smoothing")]
Seed = Annotated[int, option("seed", minimum=0)]
Device = Annotated[str, option("device", panel=COMPUTING)]
Memory = Annotated[str | None, option("memory", panel=COMPUTING)]
Decisions = Annotated[bool, option("decisions", "--decisions/--no-decisions", panel=COLLECTION)]
Journal = Annotated[Path | None, option("journal", panel=COLLECTION, metavar="FILE")]
Resume = Annotated[bool, option("resume", "--resume")]


def run(
    collection: CollectionFolder,
    output: Output,
    preset: Preset = None,
    features: Features = DEFAULTS.features,
    n_regions: Regions = DEFAULTS.n_regions,
    n_free: Free = None,
    coupling: Coupling = None,
    affinity: Affinity = None,
    centred: Centred = None,
    noise: Noise = None,
    exclusive: Exclusive = None,
    shrinkage: Shrinkage = None,
    attribute_shrinkage: AttributeShrinkage = None,
    start: Start = None,
    photo_effect: PhotoEffect = None,
    attributes_of: AttributesOf = None,
    photo_prior: PhotoPrior = None,
    smoothing: Smoothing = None,
    seed: Seed = DEFAULTS.seed,
    device: Device = DEFAULTS.device,
    engine: Engine = DEFAULTS.engine,
    address: Address = DEFAULTS.address,
    n_workers: Workers = DEFAULTS.n_workers,
    memory: Memory = None,
    resume: Resume = False,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    decisions: Decisions = True,
    journal: Journal = None,
    json: AsJson = False,
) -> None:
    """Train a model on a folder of tagged photos."""
    given = {name: value for name, value in locals().items() if name in OPTIONS and value is not None}
    reading = OpenArguments(format=format, split=split, synonyms=synonyms, words=words, images=images)
    _print_summary(_train(_open(collection, decisions, journal, reading), output, given, resume), output, json)


def _open(place: Path, decisions: bool, journal: Path | None, reading: OpenArguments) -> Collection:
    """The collection in a folder with the decisions of its journal, which are reported."""
    opened = open_decided(place, decisions=decisions, journal=journal, **reading)
    if opened.journal is not None:
        count = f"{opened.n_decisions} {'decision' if opened.n_decisions == 1 else 'decisions'}"
        print_message(f"applies {count} of the journal {str(opened.journal)!r}; --no-decisions leaves them out")
    return opened.collection


def _train(collection: Collection, output: Path, options: dict[str, Any], resume: bool) -> Model:
    """Train with the options, and save the model."""
    checkpoint = checkpoint_folder(output)
    check_output_file(output, "a tagsight model", is_model)
    check_checkpoint_folder(checkpoint)
    busy = f"another training is writing {str(output)!r}; wait for it, or choose another --output"
    with hold_lock(output.with_name(f"{output.name}.lock"), wait=False, busy=busy, remove=True):
        _warn_about_checkpoint(checkpoint, resume)
        model = train(collection, checkpoint=checkpoint, resume=resume, **options).save(output)
        remove_checkpoint(checkpoint)
    return model


def _print_summary(model: Model, output: Path, json: bool) -> None:
    training, calibration = model.trained.training, model.trained.predictor.calibration
    errors = {"objects": calibration.objects.error, "attributes": calibration.attributes.error}
    if json:
        facts = {
            "model": str(output),
            "photos": training.n_photos,
            "left_out": len(model.problems),
            "objects": len(model.objects),
            "attributes": len(model.attributes),
            "sweeps": len(training.bound),
            "calibration_error": errors,
            "seconds": {stage: round(seconds, 2) for stage, seconds in model.seconds.items()},
        }
        print_json(facts)
        return
    words = f"{len(model.objects)} objects, {len(model.attributes)} attributes"
    print(f"{show_text(str(output))}: {words} from {training.n_photos} photos")
    for kind, error in errors.items():
        print(f"calibration error of {kind}: {'not measured' if error is None else f'{error:.3f}'}")
    print("seconds: " + ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in model.seconds.items()))


def _warn_about_checkpoint(checkpoint: Path, resume: bool) -> None:
    found = has_checkpoint(checkpoint)
    if found and not resume:
        print_message(
            f"starts from the beginning and replaces the checkpoint {str(checkpoint)!r} of a stopped training; "
            "--resume continues that training"
        )
    if resume and not found:
        print_message(f"there is no checkpoint {str(checkpoint)!r}: training starts from the beginning")
