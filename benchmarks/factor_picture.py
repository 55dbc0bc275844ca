"""Draw the factors of a model by their example crops.

    python benchmarks/factor_picture.py demo/demo.model -o docs/images/factors.jpg

A picture of real photos must not be in the project; the model of `tagsight demo` has rendered ones.
"""

import argparse
from pathlib import Path

from record import lies_in_project
from tagsight.pictures.overlay import encode_jpeg
from tagsight.predict.model_file import load_model
from tagsight.storage.files import write_atomically
from tagsight_bench.factor_rows import draw_factors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="JPEG")
    options = parser.parse_args()
    rendered = (options.model.parent / "photos" / "truth" / "truth.json").exists()
    if lies_in_project(options.output) and not rendered:
        parser.error(f"{str(options.output)!r} lies in the project, where no real photo may be: give another folder")
    model = load_model(options.model)
    write_atomically(options.output, encode_jpeg(draw_factors(model.factor_names, model.example_crops)))


if __name__ == "__main__":
    main()
