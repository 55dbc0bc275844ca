"""tagsight train."""

from pathlib import Path
from typing import Annotated, Any

import typer

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
MODEL = "Options of the model"

Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Preset = Annotated[str | None, option("preset", panel=MODEL)]
Features = Annotated[str, option("features", panel=MODEL)]
Free = Annotated[int | None, option("n_free", "--free", panel=MODEL, minimum=0)]
Regions = Annotated[int, option("n_regions", "--regions", panel=MODEL, minimum=1)]
Coupling = Annotated[
    float | None, option("coupling", panel=MODEL, minimum=0, show_default=f"{DEFAULTS.coupling:g}, or the preset's")
]
Affinity = Annotated[
    float | None, option("affinity", panel=MODEL, minimum=0, show_default=f"{DEFAULTS.affinity:g}, or the preset's")
]
Centred = Annotated[
    bool | None,
    option(
        "centred",
        "--centred/--no-centred",
        panel=MODEL,
        show_default=f"{'centred' if DEFAULTS.centred else 'no-centred'}, or the preset's",
    ),
]
Noise = Annotated[str, option("noise", panel=MODEL)]
Exclusive = Annotated[bool, option("exclusive", "--exclusive/--no-exclusive", panel=MODEL)]
Shrinkage = Annotated[float | None, option("shrinkage", panel=MODEL)]
AttributeShrinkage = Annotated[float | None, option("attribute_shrinkage", panel=MODEL)]
Start = Annotated[str, option("start", panel=MODEL)]
PhotoEffect = Annotated[float, option("photo_effect", panel=MODEL)]
AttributesOf = Annotated[str, option("attributes_of", panel=MODEL)]
PhotoPrior = Annotated[float | None, option("photo_prior", panel=MODEL)]
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
    n_free: Free = DEFAULTS.n_free,
    n_regions: Regions = DEFAULTS.n_regions,
    coupling: Coupling = None,
    affinity: Affinity = None,
    centred: Centred = None,
    noise: Noise = DEFAULTS.noise,
    exclusive: Exclusive = DEFAULTS.exclusive,
    shrinkage: Shrinkage = DEFAULTS.shrinkage,
    attribute_shrinkage: AttributeShrinkage = DEFAULTS.attribute_shrinkage,
    start: Start = DEFAULTS.start,
    photo_effect: PhotoEffect = DEFAULTS.photo_effect,
    attributes_of: AttributesOf = DEFAULTS.attributes_of,
    photo_prior: PhotoPrior = DEFAULTS.photo_prior,
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
    options = {
        "preset": preset,
        "features": features,
        "n_free": n_free,
        "n_regions": n_regions,
        "coupling": coupling,
        "affinity": affinity,
        "centred": centred,
        "noise": noise,
        "exclusive": exclusive,
        "shrinkage": shrinkage,
        "attribute_shrinkage": attribute_shrinkage,
        "start": start,
        "photo_effect": photo_effect,
        "attributes_of": attributes_of,
        "photo_prior": photo_prior,
        "seed": seed,
        "device": device,
        "engine": engine,
        "address": address,
        "n_workers": n_workers,
        "memory": memory,
    }
    reading = OpenArguments(format=format, split=split, synonyms=synonyms, words=words, images=images)
    _print_summary(_train(_open(collection, decisions, journal, reading), output, options, resume), output, json)


def _open(place: Path, decisions: bool, journal: Path | None, reading: OpenArguments) -> Collection:
    """The collection in a folder with the decisions of its journal, which are reported."""
    opened = open_decided(place, decisions=decisions, journal=journal, **reading)
    if opened.journal is not None:
        count = f"{opened.n_decisions} {'decision' if opened.n_decisions == 1 else 'decisions'}"
        print_message(f"applies {count} of the journal {str(opened.journal)!r}; --no-decisions leaves them out")
    return opened.collection


def _train(collection: Collection, output: Path, options: dict[str, Any], resume: bool) -> Model:
    """Train with those of the options that are not None, and save the model."""
    chosen = {name: value for name, value in options.items() if value is not None}
    checkpoint = checkpoint_folder(output)
    check_output_file(output, "a tagsight model", is_model)
    check_checkpoint_folder(checkpoint)
    busy = f"another training is writing {str(output)!r}; wait for it, or choose another --output"
    with hold_lock(output.with_name(f"{output.name}.lock"), wait=False, busy=busy, remove=True):
        _warn_about_checkpoint(checkpoint, resume)
        model = train(collection, checkpoint=checkpoint, resume=resume, **chosen).save(output)
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
