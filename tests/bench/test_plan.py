"""The cells of a benchmark."""

import pytest

from tagsight.errors import InputError
from tagsight_bench.methods import ABLATIONS, METHODS, find_entry
from tagsight_bench.plan import Request, plan_cells


def test_joint_methods_are_segmented_with_every_attribute_set_and_others_without_attributes() -> None:
    cells = plan_cells(Request("apascal", ("segmentation",), n_seeds=1))
    sizes = {method: sorted(c.fit.attributes for c in cells if c.fit.method == method) for method in METHODS}
    assert sizes["ws-mrf-sibp"] == [0, 8, 64, 74]
    assert sizes["wsdc"] == sizes["supervised"] == [0]
    assert sizes["ssvm"] == []
    refined = {(c.fit.method, c.fit.attributes) for c in plan_cells(Request("apascal", ("refined",), n_seeds=1))}
    assert refined == {
        ("supervised", 0),
        *((m, n) for m in ("tagsight", "ws-sibp", "additive", "ws-mrf-sibp") for n in (0, 64)),
    }


def test_tables_on_the_same_photos_share_their_fits() -> None:
    cells = plan_cells(Request("apascal", (), ("wsvm",), n_seeds=2))
    assert [cell.table for cell in cells] == 2 * ["annotation", "queries", "outlines"] + 2 * ["segmentation"]
    assert len({cell.fit for cell in cells}) == 4
    assert len({cell.fit for cell in plan_cells(Request("labelme", (), ("wsvm",), n_seeds=1))}) == 1


def test_ablations_are_methods_in_the_tables_they_affect() -> None:
    cells = plan_cells(Request("apascal", ("ablations",), n_seeds=1))
    assert {cell.fit.method for cell in cells} == set(ABLATIONS)
    assert {(cell.table, cell.fit.attributes) for cell in cells} == {
        ("annotation", 64),
        ("queries", 64),
        ("segmentation", 64),
    }
    assert {cell.table for cell in cells if cell.fit.method == "no-attribute-distance"} == {"segmentation"}


def test_a_repeated_request_gives_one_cell() -> None:
    once, twice = (
        plan_cells(Request("apascal", tables, ("no-fields",), n_seeds=1))
        for tables in (("ablations",), ("annotation", "ablations"))
    )
    assert sorted(once) == sorted(twice)


def test_an_unknown_name_lists_the_known_ones() -> None:
    for request, remedy in (
        (Request("coco"), "apascal, labelme, imagenet, rendered"),
        (Request("apascal", ("predict",)), "annotation, queries, outlines, segmentation, refined, ablations"),
        (Request("labelme", ("ablations",)), "inductive, transductive, predict"),
        (Request("apascal", features="sift"), "deep, deep-small, classic"),
        (Request("apascal", on="train"), "test, validation"),
        (Request("apascal", methods=("wsvn",)), "wsvm, miml"),
        (Request("apascal", methods=("../x:Y",)), "module:Class"),
        (Request("apascal", ("outlines",), ("supervised",)), "supervised is in inductive, refined, segmentation"),
    ):
        with pytest.raises(InputError, match=remedy):
            plan_cells(request)


def test_a_module_and_class_is_a_method() -> None:
    assert find_entry("my.module:Class").place == "my.module:Class"
    assert find_entry("my.module:Class").supervision == "tags"
