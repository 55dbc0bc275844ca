"""The command, end to end, on rendered photos with the method of the how-to."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tagsight.demo import read_truth
from tagsight.errors import InputError
from tagsight_bench.cells import read_cells, write_cell
from tagsight_bench.cli import make_app

from .conftest import METHOD


def bench(demo: Path, output: Path, *arguments: str) -> Result:
    command = ["rendered", "--data", str(demo), "-o", str(output), "--methods", METHOD, "--workers", "1"]
    return CliRunner().invoke(make_app(), [*command, *arguments])


@pytest.fixture(scope="module")
def results(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("results")
    done = bench(demo, output, "--seeds", "2")
    assert done.exit_code == 0, done.output
    assert [str(Path(line).relative_to(output)) for line in done.stdout.splitlines()] == [
        f"rendered/test/{table}/deep/nearest.MeanPhoto-{size}-{seed}.json"
        for size, tables in ((0, ["segmentation"]), (10, ["annotation", "queries"]))
        for seed in (0, 1)
        for table in tables
    ]
    return output


def test_cells_have_all_settings_and_name_no_folder(demo: Path, results: Path) -> None:
    cells = read_cells(results)
    assert len(cells) == 6
    for cell in cells:
        assert cell["photos"] == {"train": 18, "test": 6}
        assert cell["seconds"]["fit"] > 0
        assert cell["seconds"]["predict_per_photo"] > 0
        assert cell["machine"]["cores"]
        assert "/" not in json.dumps(cell["settings"])
        assert str(demo) not in json.dumps(cell)


def test_figures_are_shares_above_chance(results: Path) -> None:
    cells = {(cell["settings"]["table"], cell["settings"]["seed"]): cell["figures"] for cell in read_cells(results)}
    assert 0.5 < cells["annotation", 0]["given_location_auc"] <= 1
    assert set(cells["annotation", 0]["ap_at"]) == {"2", "5", "8"}
    assert 0 < cells["queries", 0]["triples"]["mar"] <= 1
    assert len(cells["queries", 0]["pairs"]["precision_at_recall"]) == 101
    assert 0 < cells["segmentation", 0]["miou"] < 1
    assert cells["annotation", 0] == cells["annotation", 1]  # this method has no use for a seed


def test_existing_cells_are_kept_and_missing_ones_are_measured(demo: Path, results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    assert bench(demo, tmp_path, "--seeds", "2").stdout == ""
    place = tmp_path / "rendered/test/segmentation/deep/nearest.MeanPhoto-0-1.json"
    before = json.loads(place.read_text())
    place.unlink()
    assert bench(demo, tmp_path, "--seeds", "2").stdout.split() == [str(place)]
    assert json.loads(place.read_text())["figures"] == before["figures"]


def test_other_settings_and_again_measure_a_cell_again(demo: Path, results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    place = tmp_path / "rendered/test/segmentation/deep/nearest.MeanPhoto-0-0.json"
    old = json.loads(place.read_text())
    old["settings"]["regions"] = 7
    write_cell(place, old)
    options = ("--seeds", "1", "--table", "segmentation")
    assert bench(demo, tmp_path, *options).stdout.split() == [str(place)]
    assert bench(demo, tmp_path, *options).stdout == ""
    assert bench(demo, tmp_path, *options, "--again").stdout.split() == [str(place)]


def test_validation_opens_no_test_photo(demo: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(demo / "photos", data / "photos")
    shutil.rmtree(data / "photos/test")
    options = ("--seeds", "1", "--table", "segmentation", "--on", "validation")
    done = bench(data, tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    (cell,) = read_cells(tmp_path / "out")
    assert cell["photos"] == {"train": 9, "test": 9}
    assert cell["settings"]["held_out"] == {"share": 0.5, "seed": 0}


def make_labelme(demo: Path, data: Path) -> None:
    """The rendered photos as if they were LabelMe's; a mask's 0 is void there."""
    truth = read_truth(demo / "photos")
    for folder in ("images", "masks33"):
        (data / "labelme_outdoor" / folder).mkdir(parents=True)
    entries = []
    for photo in truth.photos:
        shutil.copy(demo / "photos" / photo.image, data / "labelme_outdoor/images" / f"{photo.stem}.jpg")
        shutil.copy(
            demo / "photos/truth/classes" / f"{photo.stem}.png", data / "labelme_outdoor/masks33" / f"{photo.stem}.png"
        )
        split = {"train": "training", "test": "validation"}[photo.split]
        classes = sorted({one.object for one in photo.instances})
        entries.append({"name": photo.stem, "split": split, "classes33": classes})
    (data / "labelme_outdoor/index.json").write_text(json.dumps(entries))
    (data / "labelme_outdoor/classes33.json").write_text(json.dumps(["void", *truth.objects]))


def test_labelme_has_no_background_and_three_tasks(demo: Path, tmp_path: Path) -> None:
    make_labelme(demo, tmp_path)
    output = tmp_path / "out"
    command = ["labelme", "--data", str(tmp_path), "-o", str(output), "--methods", METHOD, "--seeds", "1"]
    done = CliRunner().invoke(make_app(), [*command, "--workers", "1"])
    assert done.exit_code == 0, done.output
    figures = {cell["settings"]["table"]: cell["figures"] for cell in read_cells(output)}
    assert figures["transductive"] is None  # this method cannot
    assert "background" not in figures["inductive"]["iou"]
    assert figures["predict"] != figures["inductive"]
    assert 0.2 < figures["predict"]["pixel_accuracy"] < 1
    assert 0.2 < figures["inductive"]["pixel_accuracy"] < 1


def test_missing_data_is_reported_in_one_sentence(tmp_path: Path) -> None:
    done = bench(tmp_path, tmp_path / "out")
    assert isinstance(done.exception, InputError)
    assert "give --data the folder that holds it" in str(done.exception)


def test_a_file_that_is_not_a_cell_is_named(demo: Path, results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    (tmp_path / "rendered/test/segmentation/deep/nearest.MeanPhoto-0-1.json").write_text("[]")
    done = bench(demo, tmp_path, "--seeds", "2")
    assert isinstance(done.exception, InputError)
    assert "is not a cell" in str(done.exception)


def test_nan_is_null_and_figures_are_rounded(tmp_path: Path) -> None:
    write_cell(tmp_path / "a.json", {"settings": {}, "figures": [float("nan"), 1 / 3, {"x": 2}]})
    assert json.loads((tmp_path / "a.json").read_text())["figures"] == [None, 0.333333, {"x": 2}]
