"""The collections that can be measured."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tagsight_bench.sources.apascal import read_apascal
from tagsight_bench.sources.imagenet import read_imagenet
from tagsight_bench.sources.labelme import read_labelme
from tagsight_bench.sources.rendered import read_rendered
from tagsight_bench.sources.source import Source
from tagsight_bench.tables import (
    Table,
    score_annotation,
    score_inductive,
    score_outlines,
    score_predict,
    score_refined,
    score_retrieval,
    score_transductive,
)


class BenchCollection(NamedTuple):
    """A collection, its folder in the data folder, and its tables."""

    folder: str
    read: Callable[[Path, str], Source]
    tables: dict[str, Table]
    query_list: str | None = None  # file of queries for the test photos; drawn from the truth if there is none


COLLECTIONS: dict[str, BenchCollection] = {
    "apascal": BenchCollection(
        "apascal",
        read_apascal,
        {
            "annotation": Table("photos", (64,), score_annotation),
            "queries": Table("photos", (64,), score_retrieval),
            "outlines": Table("photos", (64, 0), score_outlines),
            "segmentation": Table("segmentation", (0, 8, 64, 74), score_outlines),
            "refined": Table("segmentation", (0, 64), score_refined),
        },
        query_list="apascal.json",
    ),
    "labelme": BenchCollection(
        "labelme_outdoor",
        read_labelme,
        {
            "inductive": Table("photos", (0,), score_inductive),
            "transductive": Table("photos", (0,), score_transductive),
            "predict": Table("photos", (0,), score_predict),
        },
    ),
    "imagenet": BenchCollection(
        "imagenet_attributes",
        read_imagenet,
        {"annotation": Table("photos", (25,), score_annotation)},
    ),
    "rendered": BenchCollection(
        "photos",
        read_rendered,
        {
            "annotation": Table("photos", (10,), score_annotation),
            "queries": Table("photos", (10,), score_retrieval),
            "segmentation": Table("photos", (0, 10), score_outlines),
            "refined": Table("photos", (0, 10), score_refined),
        },
    ),
}
