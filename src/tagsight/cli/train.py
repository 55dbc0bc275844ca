"""tagsight train."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from tagsight.api import Model, train
from tagsight.cli.arguments import (
    COMPUTING,
    Address,
    AsJson,
    CollectionFolder,
    Engine,
    Format,
    PhotoFolder,
    Split,
    SynonymFile,
    WordFile,
    Workers,
)
from tagsight.cli.console import print_json, show_text
from tagsight.data.readers import open_collection
from tagsight.engine.checkpoint import check_checkpoint_folder, checkpoint_folder, has_checkpoint, remove_checkpoint
from tagsight.features.extractor import FAMILIES
from tagsight.model.settings import PRESETS
from tagsight.model.start import STARTS
from tagsight.runtime.messages import print_message
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import check_output_file, is_model
from tagsight.training.options import TrainOptions

DEFAULTS = TrainOptions()
PRESET = "with --preset only"
MODEL = "Options of the model"

Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Preset = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MODEL,
        help=f"Train one of the paper's models instead: {', '.join(PRESETS)}.",
        show_default="none",
    ),
]
Features = Annotated[
    str,
    typer.Option(
        rich_help_panel=MODEL, help=f"Features of regions: {', '.join(FAMILIES)}, or the path of an ONNX network."
    ),
]
Free = Annotated[
    int, typer.Option("--free", rich_help_panel=MODEL, min=0, help="Number of factors to discover beside the tags.")
]
Regions = Annotated[int, typer.Option("--regions", rich_help_panel=MODEL, min=1, help="Number of regions per photo.")]
Coupling = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=MODEL,
        min=0.0,
        help="Strength of the field between neighbouring regions.",
        show_default="1, or the preset's",
    ),
]
Affinity = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=MODEL, min=0.0, help="Strength of the field within a region.", show_default="1, or the preset's"
    ),
]
Centred = Annotated[
    bool | None,
    typer.Option(
        "--centred/--no-centred",
        rich_help_panel=MODEL,
        help="Let the field within a region act on deviations from the photo's mean.",
        show_default="no, or the preset's",
    ),
]
Noise = Annotated[str, typer.Option(rich_help_panel=MODEL, help="Covariance of the model's noise: isotropic or full.")]
Exclusive = Annotated[
    bool,
    typer.Option(
        "--exclusive/--no-exclusive",
        rich_help_panel=MODEL,
        help="Allow at most one object or free factor in a region, beside attributes.",
    ),
]
Shrinkage = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=MODEL,
        help="Strength of the prior that draws appearances towards zero, as a number of regions.",
        show_default="learned",
    ),
]
AttributeShrinkage = Annotated[
    float | None,
    typer.Option(rich_help_panel=MODEL, help="The same for attributes.", show_default="that of --shrinkage"),
]
Start = Annotated[
    str, typer.Option(rich_help_panel=MODEL, help=f"How assignments are initialised: {', '.join(STARTS)}.")
]
PhotoEffect = Annotated[
    float,
    typer.Option(
        rich_help_panel=MODEL, help=f"Share of a photo's mean vector to subtract from its regions, 0 to 1; {PRESET}."
    ),
]
AttributesOf = Annotated[
    str, typer.Option(rich_help_panel=MODEL, help=f"What an attribute describes: regions or objects; {PRESET}.")
]
PhotoPrior = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=MODEL,
        help=f"Strength of the photo-level prior of objects, such as 30; {PRESET}.",
        show_default="no prior",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
Device = Annotated[
    str, typer.Option(rich_help_panel=COMPUTING, help="Device of the network and the model: cpu, cuda or cuda-bf16.")
]
Memory = Annotated[
    str | None,
    typer.Option(rich_help_panel=COMPUTING, help="Memory to train in, such as 2GB.", show_default="no limit"),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint of a stopped training.")]


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
    json: AsJson = False,
) -> None:
    """Train a model on a folder of tagged photos."""
    given = dict(locals())  # a parameter that is named as a field of TrainOptions sets that field; None keeps it
    options = {one.name: given[one.name] for one in fields(TrainOptions) if given.get(one.name) is not None}
    opened = open_collection(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    checkpoint = checkpoint_folder(output)
    check_output_file(output, "a tagsight model", is_model)
    check_checkpoint_folder(checkpoint)
    busy = f"another training is writing {str(output)!r}; wait for it, or choose another --output"
    with hold_lock(output.with_name(f"{output.name}.lock"), wait=False, busy=busy, remove=True):
        _warn_about_checkpoint(checkpoint, resume)
        model = train(opened, preset=preset, checkpoint=checkpoint, resume=resume, **options).save(output)
        remove_checkpoint(checkpoint)
    _print_summary(model, output, json)


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
