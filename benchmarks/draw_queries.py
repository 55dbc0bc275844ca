"""Draw the queries for aPascal's test photos, and store them.

300 object-attribute-attribute triples, drawn uniformly without repetition from the 1,394 that an instance of a test
photo matches; and all 242 object-attribute pairs that an instance matches.

    python benchmarks/draw_queries.py --data DIR
"""

import argparse
import os
from pathlib import Path

from tagsight.data.vocabulary import Vocabulary
from tagsight_bench.query_lists import draw_lists, write_lists
from tagsight_bench.sources.apascal import read_apascal
from tagsight_bench.trial import locate_instances

QUERIES = Path(__file__).parent / "queries"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("TAGSIGHT_DATA")
    parser.add_argument("--data", type=Path, default=data, required=data is None, help="folder with apascal/")
    source = read_apascal(parser.parse_args().data / "apascal", "photos")
    vocabulary = Vocabulary(source.vocabulary.objects, source.attribute_sets[64])
    truth = [locate_instances(photo, vocabulary) for photo in source.test]
    write_lists(QUERIES / "apascal.json", draw_lists(truth), vocabulary)


if __name__ == "__main__":
    main()
