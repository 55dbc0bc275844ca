"""The demo: render photos, train on their tags, predict test photos, score them, write a page."""

import json
import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from tagsight.data.jsonvalues import is_object
from tagsight.data.photo import read_photo
from tagsight.data.readers import open_collection
from tagsight.data.textfiles import read_json
from tagsight.demo import read_truth, render_collection
from tagsight.demo.scores import RenderedScores, ScoredPhoto, score_rendered
from tagsight.errors import InputError, WriteError
from tagsight.features.extract import extract
from tagsight.pictures.factor_page import inline_jpeg, open_templates
from tagsight.pictures.overlay import encode_jpeg, paint_overlay
from tagsight.predict.annotate import FoundObject, annotate_photo
from tagsight.predict.factors import list_factors
from tagsight.predict.model_file import load_model, save_model
from tagsight.predict.predictor import predict_photos
from tagsight.predict.segment import segment_objects
from tagsight.predict.trained_model import TrainedModel
from tagsight.runtime.progress import Report
from tagsight.storage.files import is_partial, name_partial, write_atomically
from tagsight.storage.outputs import check_output_file, claim_folder, is_model, is_page
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train

SHOWN = 18  # test photos on the page
CURVE_WIDTH, CURVE_HEIGHT, CURVE_MARGIN = 640, 220, 12
RECORD = "photos.json"  # the rendered files and their SHA-256


def run_demo(folder: Path, *, n_photos: int, seed: int, report: Report) -> tuple[Path, RenderedScores]:
    """Write photos, model and page to `folder`; returns the path of the page and the scores."""
    claim_folder(folder, "tagsight demo")
    photos = folder / "photos"
    check_output_file(folder / "demo.model", "a tagsight model", is_model)
    check_output_file(folder / "index.html", "a page of tagsight", is_page)
    _remove_rendered(folder)
    report("rendering photos", 0, 1)
    _render(folder, n_photos, seed)
    report("rendering photos", 1, 1)
    save_model(train(open_collection(photos / "train"), TrainOptions(seed=seed), report).model, folder / "demo.model")
    model = load_model(folder / "demo.model")
    truth = read_truth(photos)
    unseen = [photo for photo in truth.photos if photo.split == "test"]
    described = list(extract([photos / photo.image for photo in unseen], model.extractor_config).load())
    scored = [
        ScoredPhoto(*parts) for parts in zip(unseen, described, predict_photos(model.predictor, described), strict=True)
    ]
    scores = score_rendered(model, photos, truth, scored)
    page = folder / "index.html"
    write_atomically(page, render_page(model, photos, scored, scores).encode())
    return page, scores


def _render(folder: Path, n_photos: int, seed: int) -> None:
    """Render into `folder`/photos, whole or not at all, and record the files."""
    partial = name_partial(folder)
    try:
        render_collection(partial, n_photos=n_photos, seed=seed)
    except OSError as problem:
        shutil.rmtree(partial, ignore_errors=True)
        reason = problem.strerror or str(problem)
        raise WriteError(folder / "photos", reason, "free some space or choose another place") from problem
    files = [path for path in sorted(partial.rglob("*")) if path.is_file()]
    record = {path.relative_to(partial).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}
    write_atomically(folder / RECORD, json.dumps(record, indent=1).encode())
    partial.rename(folder / "photos")


def _remove_rendered(folder: Path) -> None:
    """Remove the photos of an earlier demo; InputError if a file beside them was added or one of them changed."""
    for left in folder.iterdir():
        if is_partial(left.name) and left.is_dir():
            shutil.rmtree(left)
    photos = folder / "photos"
    record: Any = read_json(folder / RECORD) if (folder / RECORD).is_file() else {}
    if not is_object(record):
        raise InputError(f"{str(folder / RECORD)!r} is not the record of a demo: choose another folder")
    files = [path for path in sorted(photos.rglob("*")) if not path.is_dir()]
    for path in files:
        name = path.relative_to(photos).as_posix()
        if path.is_symlink() or sha256(path.read_bytes()).hexdigest() != record.get(name):
            raise InputError(f"{str(path)!r} is not as the demo wrote it: move it, or choose another folder")
    if photos.exists():
        shutil.rmtree(photos)


def render_page(model: TrainedModel, photos: Path, scored: list[ScoredPhoto], scores: RenderedScores) -> str:
    """A page as HTML with its pictures embedded."""
    names = ("background", *model.vocabulary.objects)
    share = scores.confusion / np.maximum(scores.confusion.sum(axis=1, keepdims=True), 1)
    factors = list_factors(model)
    pictures = [[inline_jpeg(example_crop.jpeg) for example_crop in row] for row in model.example_crops]
    return (
        open_templates()
        .get_template("demo.html")
        .render(
            model=model,
            scores=scores,
            names=names,
            iou=dict(zip(names, (100 * scores.iou).tolist(), strict=True)),
            confusion=list(zip(names, (100 * share).round().astype(int).tolist(), strict=True)),
            hidden=f"free-{scores.hidden_factor + 1}",
            curve=draw_curve(model.training.bound),
            shown=[prepare_photo(model, photos, photo) for photo in scored[:SHOWN]],
            factors=list(zip(factors, pictures, strict=True)),
        )
    )


def prepare_photo(model: TrainedModel, photos: Path, photo: ScoredPhoto) -> dict[str, Any]:
    """The values of a test photo for the page: its overlay, and the objects found and those in the truth."""
    mask = segment_objects(photo.photo, photo.posterior)
    pixels = read_photo(photos / photo.truth.image).pixels
    found = annotate_photo(model, photo.photo, photo.posterior, n_objects=len(photo.truth.instances), n_attributes=3)
    return {
        "picture": inline_jpeg(encode_jpeg(paint_overlay(pixels, mask, model.vocabulary.objects))),
        "found": [format_object(one) for one in found],
        "truth": [f"{one.object}: {', '.join(one.attributes)}" for one in photo.truth.instances],
    }


def format_object(found: FoundObject) -> str:
    """The text of an object, such as `horse: furry, brown`."""
    return f"{found.name}: {', '.join(attribute.name for attribute in found.attributes)}"


def draw_curve(values: Sequence[float]) -> Markup:
    """A curve as SVG: the values from left to right, scaled to the size of the picture."""
    low, high = min(values), max(values)
    step = (CURVE_WIDTH - 2 * CURVE_MARGIN) / max(len(values) - 1, 1)
    scale = (CURVE_HEIGHT - 2 * CURVE_MARGIN) / ((high - low) or 1.0)
    points = " ".join(
        f"{CURVE_MARGIN + step * i:.1f},{CURVE_HEIGHT - CURVE_MARGIN - scale * (value - low):.1f}"
        for i, value in enumerate(values)
    )
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="The bound after each of {} sweeps, from {:.0f} to {:.0f}">'
        '<polyline points="{}" fill="none" stroke="currentColor" stroke-width="2"/></svg>'
    ).format(CURVE_WIDTH, CURVE_HEIGHT, len(values), values[0], values[-1], points)
