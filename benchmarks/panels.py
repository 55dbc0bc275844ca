"""Draw photos beside segmentations: without attributes, with all attributes, fully supervised, ground truth.

    python benchmarks/panels.py --collection rendered --data demo -o docs/images/panels.jpg
    python benchmarks/panels.py --collection apascal --data DIR -o /elsewhere/panels.jpg

A picture of real photos must not be in the project.
"""

import argparse
import os
from pathlib import Path

from record import lies_in_project
from tagsight.features.extractor import ExtractorConfig
from tagsight.pictures.overlay import encode_jpeg
from tagsight.runtime.progress import no_progress
from tagsight.storage.files import write_atomically
from tagsight_bench.collections import COLLECTIONS
from tagsight_bench.panels import Picture, draw_panels, outline_photos
from tagsight_bench.trial import extract_source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("TAGSIGHT_DATA")
    parser.add_argument("--collection", choices=("rendered", "apascal"), default="rendered")
    parser.add_argument("--data", type=Path, default=data, required=data is None, help="folder with the collection's")
    parser.add_argument("--method", default="tagsight", help="method of the two first outlines")
    parser.add_argument("--strong", default="supervised", help="method of the third")
    parser.add_argument("--photos", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="JPEG")
    options = parser.parse_args()
    if options.collection != "rendered" and lies_in_project(options.output):
        parser.error(f"{str(options.output)!r} lies in the project, where no real photo may be: give another folder")
    benched = COLLECTIONS[options.collection]
    table = benched.tables["segmentation"]
    everything = benched.tables["annotation"].attributes[0]
    source = benched.read(options.data / benched.folder, table.part)
    extracted = extract_source(source, ExtractorConfig("deep"), no_progress, "")
    pictures = (
        Picture("0 attributes", options.method, 0),
        Picture(f"{everything} attributes", options.method, everything),
        Picture("fully supervised", options.strong, 0),
    )
    rows = outline_photos(extracted, pictures, options.photos, seed=options.seed)
    headings = ("photo", *(picture.heading for picture in pictures), "truth")
    write_atomically(options.output, encode_jpeg(draw_panels(headings, rows)))


if __name__ == "__main__":
    main()
