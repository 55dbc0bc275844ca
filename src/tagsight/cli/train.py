"""tagsight train."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, CollectionFolder, Format, PhotoFolder, Split, SynonymFile, WordFile
from tagsight.cli.console import list_problems, print_json, show_progress
from tagsight.data.readers import open_collection
from tagsight.presets import PRESETS
from tagsight.storage.model_file import save_model
from tagsight.training import TrainOptions
from tagsight.training import train as train_model
from tagsight.validation import check_choice


def run(
    collection: CollectionFolder,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    preset: Annotated[str | None, typer.Option(help="The paper's model alone: ws-sibp or ws-mrf-sibp.")] = None,
    features: Annotated[str, typer.Option(help="deep, classic, or the path of an ONNX backbone.")] = "deep",
    free: Annotated[int, typer.Option(min=0, help="Factors to discover beside the tags.")] = 20,
    coupling: Annotated[float, typer.Option(min=0.0, help="Strength of the field between neighbours.")] = 1.0,
    affinity: Annotated[float, typer.Option(min=0.0, help="Strength of the field within a region.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    regions: Annotated[int, typer.Option(min=1, help="Regions of a photo.")] = 80,
    device: Annotated[str, typer.Option(help="Where to describe and learn: cpu, cuda or cuda-bf16.")] = "cpu",
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if not given.")] = None,
    format: Format = None,
    split: Split = None,
    synonyms: SynonymFile = None,
    words: WordFile = None,
    images: PhotoFolder = None,
    json: AsJson = False,
) -> None:
    """Learn from a folder of tagged photos what each tag looks like."""
    opened = open_collection(collection, format=format, split=split, synonyms=synonyms, words=words, images=images)
    options = TrainOptions(features, free, coupling, affinity, regions, seed, workers, device)
    if preset is not None:
        check_choice(preset, "preset", tuple(PRESETS))
        options = options._replace(**PRESETS[preset], readout=False)
    with show_progress() as report:
        outcome = train_model(opened, options, report)
    save_model(outcome.model, output)
    list_problems(opened.problems + outcome.problems)
    model, seconds = outcome.model, outcome.seconds
    facts = {
        "model": str(output),
        "photos": model.training.n_photos,
        "left_out": len(opened.problems) + len(outcome.problems),
        "objects": len(model.vocabulary.objects),
        "attributes": len(model.vocabulary.attributes),
        "sweeps": len(model.training.bound),
        "calibration_error": {"objects": model.objects.error, "attributes": model.attributes.error},
        "seconds": {stage: round(time, 2) for stage, time in seconds.items()},
    }
    if json:
        print_json(facts)
        return
    print(f"{output}: {facts['objects']} objects, {facts['attributes']} attributes from {facts['photos']} photos")
    for kind, error in facts["calibration_error"].items():
        print(f"calibration error of {kind}: {'not measured' if error is None else f'{error:.3f}'}")
    print("seconds: " + ", ".join(f"{stage} {time:.1f}" for stage, time in seconds.items()))
