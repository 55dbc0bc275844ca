"""tagsight train."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tagsight.cli.arguments import (
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
from tagsight.cli.console import list_problems, print_json, show_text
from tagsight.data.readers import open_collection
from tagsight.data.summary import find_weaknesses
from tagsight.engine.checkpoint import check_checkpoint_folder, checkpoint_folder, has_checkpoint, remove_checkpoint
from tagsight.features.extractor import FAMILIES
from tagsight.model.start import STARTS
from tagsight.predict.model_file import save_model
from tagsight.runtime.interrupts import STOP
from tagsight.runtime.memory import read_size
from tagsight.runtime.messages import print_message
from tagsight.runtime.progress import show_progress
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import check_output_file, is_model
from tagsight.training.fit import FEWEST_TO_HOLD_OUT
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import CheckpointOptions
from tagsight.training.pipeline import train as train_model

DEFAULTS = TrainOptions()
FEATURES_HELP = f"One of {', '.join(FAMILIES)}, or the path of an ONNX backbone."


def run(
    collection: CollectionFolder,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    preset: Annotated[str | None, typer.Option(help="The paper's model alone: ws-sibp or ws-mrf-sibp.")] = None,
    features: Annotated[str, typer.Option(help=FEATURES_HELP)] = DEFAULTS.features,
    free: Annotated[int, typer.Option(min=0, help="Factors to discover beside the tags.")] = DEFAULTS.n_free,
    coupling: Annotated[
        float | None, typer.Option(min=0.0, help="Strength of the field between neighbours; else 1, or the preset's.")
    ] = None,
    affinity: Annotated[
        float | None, typer.Option(min=0.0, help="Strength of the field within a region; else 1, or the preset's.")
    ] = None,
    centred: Annotated[
        bool | None,
        typer.Option(
            "--centred/--no-centred",
            help="Reward tags for sharing regions of a photo, not for being on more; else as the preset does.",
        ),
    ] = None,
    noise: Annotated[str, typer.Option(help="Covariance of the model's noise: isotropic or full.")] = DEFAULTS.noise,
    start: Annotated[str, typer.Option(help=f"Where the model begins: {', '.join(STARTS)}.")] = DEFAULTS.start,
    photo_effect: Annotated[
        float,
        typer.Option(help="Share of a photo's mean vector to subtract from its regions, 0 to 1; with --preset only."),
    ] = DEFAULTS.photo_effect,
    exclusive: Annotated[
        bool,
        typer.Option(
            "--exclusive/--no-exclusive",
            help="Allow at most one object or free factor in a region; attributes beside it.",
        ),
    ] = DEFAULTS.exclusive,
    shrinkage: Annotated[
        float | None,
        typer.Option(help="Strength of the prior that draws appearances towards zero, in regions. Learned by default."),
    ] = DEFAULTS.shrinkage,
    attribute_shrinkage: Annotated[
        float | None, typer.Option(help="The same for attributes. Equal to --shrinkage by default.")
    ] = DEFAULTS.attribute_shrinkage,
    attributes_of: Annotated[
        str, typer.Option(help="What an attribute describes: regions, or objects; with --preset only.")
    ] = DEFAULTS.attributes_of,
    photo_prior: Annotated[
        float | None,
        typer.Option(
            help="How much regions heed what the whole photo looks like, for instance 30; with --preset only."
        ),
    ] = DEFAULTS.photo_prior,
    seed: Annotated[int, typer.Option(min=0)] = DEFAULTS.seed,
    regions: Annotated[int, typer.Option(min=1, help="Regions of a photo.")] = DEFAULTS.n_regions,
    device: Annotated[str, typer.Option(help="Where to describe and learn: cpu, cuda or cuda-bf16.")] = DEFAULTS.device,
    engine: Engine = DEFAULTS.engine,
    address: Address = None,
    workers: Workers = None,
    memory: Annotated[
        str | None, typer.Option(help="Most memory to learn in, such as 2GB; else what it takes.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of a stopped training.")] = False,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    json: AsJson = False,
) -> None:
    """Learn from a folder of tagged photos what each tag looks like."""
    opened = open_collection(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    changes: dict[str, Any] = {
        "features": features,
        "n_free": free,
        "n_regions": regions,
        "noise": noise,
        "start": start,
        "photo_effect": photo_effect,
        "exclusive": exclusive,
        "shrinkage": shrinkage,
        "attribute_shrinkage": attribute_shrinkage,
        "attributes_of": attributes_of,
        "photo_prior": photo_prior,
        "seed": seed,
        "device": device,
        "engine": engine,
        "address": address,
        "n_workers": workers,
        "memory": read_size(memory) if memory else None,
    }
    fields = {"coupling": coupling, "affinity": affinity, "centred": centred}
    changes |= {name: value for name, value in fields.items() if value is not None}
    options = TrainOptions(**changes) if preset is None else TrainOptions.from_preset(preset, **changes)
    for weakness in find_weaknesses(opened, fewest_photos=FEWEST_TO_HOLD_OUT):
        print_message(f"warning: {weakness}")
    checkpoint = checkpoint_folder(output)
    check_output_file(output, "a tagsight model", is_model)
    check_checkpoint_folder(checkpoint)
    busy = f"another training is writing {str(output)!r}; wait for it, or choose another --output"
    with hold_lock(output.with_name(f"{output.name}.lock"), wait=False, busy=busy, remove=True):
        _warn_about_checkpoint(checkpoint, resume)
        with show_progress() as report:
            outcome = train_model(opened, options, report, CheckpointOptions(checkpoint, resume, STOP))
            save_model(outcome.model, output)
        remove_checkpoint(checkpoint)
    list_problems(opened.problems + outcome.problems)
    model, seconds = outcome.model, outcome.seconds
    facts = {
        "model": str(output),
        "photos": model.training.n_photos,
        "left_out": len(opened.problems) + len(outcome.problems),
        "objects": len(model.vocabulary.objects),
        "attributes": len(model.vocabulary.attributes),
        "sweeps": len(model.training.bound),
        "calibration_error": {
            "objects": model.predictor.calibration.objects.error,
            "attributes": model.predictor.calibration.attributes.error,
        },
        "seconds": {stage: round(time, 2) for stage, time in seconds.items()},
    }
    if json:
        print_json(facts)
        return
    learned = f"{facts['objects']} objects, {facts['attributes']} attributes from {facts['photos']} photos"
    print(f"{show_text(str(output))}: {learned}")
    for kind, error in facts["calibration_error"].items():
        print(f"calibration error of {kind}: {'not measured' if error is None else f'{error:.3f}'}")
    print("seconds: " + ", ".join(f"{stage} {time:.1f}" for stage, time in seconds.items()))


def _warn_about_checkpoint(checkpoint: Path, resume: bool) -> None:
    there = has_checkpoint(checkpoint)
    if there and not resume:
        print_message(
            f"starts from the beginning and replaces the checkpoint {str(checkpoint)!r} of a stopped training; "
            "--resume continues that training"
        )
    if resume and not there:
        print_message(f"there is no checkpoint {str(checkpoint)!r}: training starts from the beginning")
