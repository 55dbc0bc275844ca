"""Train the starter model, measure it on test photos, and write its file, its figures and the table of its page.

    python benchmarks/starter_model.py --data DIR
    python benchmarks/starter_model.py --data DIR --keep                        # measure the present file again

`--data` is the folder that holds `apascal/`. The model is trained with the default options on the training photos of
aPascal, with 64 attributes. The test photos are used for the figures only. Example crops are removed, so that the file
has no part of a photo.
"""

import argparse
import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from record import write_result
from tables import ROOT, insert, tabulate
from tagsight.data.readers import open_collection
from tagsight.errors import InputError
from tagsight.predict.model_file import encode_model, load_model
from tagsight.predict.shipped import SHIPPED, STARTER, Figures
from tagsight.predict.trained_model import TrainedModel
from tagsight.runtime.progress import Report, show_progress
from tagsight.storage.files import write_atomically
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train
from tagsight_bench.query_lists import QueryLists
from tagsight_bench.sources.apascal import SPLITS, read_apascal
from tagsight_bench.tables import Candidate, score_annotation, score_outlines
from tagsight_bench.tagsight_method import StackedIBPMethod
from tagsight_bench.trial import extract_source, make_trial

MAX_BYTES = 5_000_000
FEWEST_PHOTOS = 5  # with a tag, so that no word is learned from a single photo
N_ATTRIBUTES = 64
PAGE = ROOT / "docs/howto/starter.md"
ROWS = {
    "object_right": "photos that contain the object named first",
    "precision_at_2": "correct attributes of that object, among the first 2",
    "precision_at_5": "among the first 5",
    "precision_at_8": "among the first 8",
    "given_name_map": "mean average precision of attributes, the objects of the photo being given",
    "given_location_map": "the same, the boxes of the objects being given",
    "miou": "outlines: mean intersection over union of 20 objects and background",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("TAGSIGHT_DATA")
    parser.add_argument("--data", type=Path, default=data, required=data is None, help="folder that holds apascal/")
    parser.add_argument("--keep", action="store_true", help="do not train; measure the file that is there")
    parser.add_argument("--part", choices=SPLITS, default="photos", help="test photos: all, or those with masks")
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED[STARTER].path, metavar="MODEL")
    options = parser.parse_args()
    folder = options.data / "apascal"
    with show_progress() as report:
        if not options.keep:
            write_atomically(options.output, encode_starter(train_starter(folder, report)))
        figures = measure(options.output, folder, options.part, report)
    if options.output == SHIPPED[STARTER].path:
        write_figures(figures)


def train_starter(folder: Path, report: Report) -> TrainedModel:
    """A model of the default options, trained on the training photos only, without example crops."""
    collection = open_collection(folder, format="apascal", split="train")
    if rare := find_rare_tags(collection.photos):
        raise InputError(f"tags on fewer than {FEWEST_PHOTOS} photos: {', '.join(rare)}")
    model = train(collection, TrainOptions(seed=0), report).model
    return model._replace(example_crops=tuple(() for _ in model.factor_names))


def find_rare_tags(photos: Any) -> list[str]:
    """The tags of fewer than FEWEST_PHOTOS photos."""
    counts: dict[str, int] = {}
    for photo in photos:
        for tag in (*photo.objects, *photo.attributes):
            counts[tag] = counts.get(tag, 0) + 1
    return [tag for tag, count in counts.items() if count < FEWEST_PHOTOS]


def encode_starter(model: TrainedModel) -> bytes:
    """The content of the model file; InputError if it is too large to ship."""
    content = encode_model(model)
    if len(content) > MAX_BYTES:
        raise InputError(f"the model file has {len(content):,} bytes, and at most {MAX_BYTES:,} may be shipped")
    return content


def measure(path: Path, folder: Path, part: str, report: Report) -> Figures:
    """The figures of a model file on the test photos of a part of aPascal."""
    model = load_model(path)
    source = read_apascal(folder, part)._replace(train=())
    trial = make_trial(extract_source(source, model.extractor_config, report, "features of test photos"), N_ATTRIBUTES)
    method = StackedIBPMethod.from_predictor(model.predictor)
    candidate = Candidate(method, trial, QueryLists((), ()), model.training.seed)
    annotation, outlines = score_annotation(candidate), score_outlines(candidate)
    return Figures(
        sha256=sha256(path.read_bytes()).hexdigest(),
        n_photos=len(trial.test.photos),
        n_masks=sum(mask is not None for mask in trial.test.masks),
        object_right=annotation["object_right"],
        **{f"precision_at_{t}": share for t, share in annotation["ap_at"].items()},
        given_name_map=annotation["given_name_map"],
        given_location_map=annotation["given_location_map"],
        miou=outlines["miou"],
    )


def write_figures(figures: Figures) -> None:
    """Write the figures to the results, to the package and to the page of the model."""
    write_result("starter_model", figures._asdict())
    write_atomically(SHIPPED[STARTER].figures, (json.dumps(figures._asdict(), indent=1) + "\n").encode())
    insert(PAGE, "starter-table", make_table(figures))


def make_table(figures: Figures) -> str:
    """The table of the model's page, in percent."""
    values = figures._asdict()
    head = (f"measured on {figures.n_photos:,} test photos, outlines on {figures.n_masks}", "%")
    return tabulate(head, [(text, f"{100 * values[name]:.1f}") for name, text in ROWS.items()])


if __name__ == "__main__":
    main()
