"""Panels of rendered photos."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tagsight.demo import read_classes, read_truth
from tagsight.features.extractor import ExtractorConfig
from tagsight.pictures.overlay import encode_jpeg
from tagsight.pictures.palette import make_voc_palette
from tagsight.predict.trained_model import ExampleCrop
from tagsight.runtime.progress import no_progress
from tagsight_bench.factor_rows import GAP as FACTOR_GAP
from tagsight_bench.factor_rows import NAME, SIDE, draw_factors
from tagsight_bench.panels import GAP, HEADING, HEIGHT, Picture, draw_panels, outline_photos, tint_labels
from tagsight_bench.sources.rendered import read_rendered
from tagsight_bench.trial import extract_source

from .conftest import METHOD


def test_panels_show_photos_segmentations_and_truth(demo: Path) -> None:
    source = read_rendered(demo / "photos", "photos")
    described = extract_source(source, ExtractorConfig("deep"), no_progress, "", n_workers=1)
    rows = outline_photos(described, [Picture("a", METHOD, 0), Picture("b", METHOD, 10)], 2, seed=0)
    tested = [photo for photo in read_truth(demo / "photos").photos if photo.split == "test"]
    assert len(rows) == 2
    for row, photo in zip(rows, (tested[0], tested[-1]), strict=True):
        assert (row.masks[2] == read_classes(demo / "photos", photo)).all()
        assert all(mask.shape == row.pixels.shape[:2] for mask in row.masks)
    picture = draw_panels(("photo", "a", "b", "truth"), rows)
    assert picture.shape == (HEADING + 2 * (HEIGHT + GAP), 4 * (200 + GAP), 3)
    assert picture.dtype == np.uint8


def test_labels_have_their_colours_and_background_is_dim() -> None:
    pixels = np.full((2, 4, 3), 100, np.uint8)
    tinted = tint_labels(pixels, np.array([[0, 0, 2, 2]]))
    assert (tinted[:, :2] == 60).all()
    assert tinted[0, 3].tolist() == pytest.approx((0.3 * 100 + 0.7 * make_voc_palette()[2]).tolist(), abs=1)


def test_each_factor_is_a_row_of_pictures() -> None:
    red = encode_jpeg(np.tile(np.array([255, 0, 0], np.uint8), (128, 64, 1)))
    sheet = draw_factors(("a", "b", "c"), ((ExampleCrop(1.0, red),) * 2, (), (ExampleCrop(1.0, red),)))
    assert sheet.shape == (2 * (SIDE + FACTOR_GAP), NAME + 2 * (SIDE + FACTOR_GAP), 3)
    at = (SIDE + FACTOR_GAP) + SIDE // 2
    assert sheet[at, NAME + 20].tolist() == pytest.approx([255, 0, 0], abs=6)
    assert sheet[at, NAME + SIDE + FACTOR_GAP + 20].tolist() == [255, 255, 255]  # the last has one picture


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panels", "factor_picture"])
def test_pictures_of_real_photos_are_refused_in_the_project(repository: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.model").touch()
    own = ["--collection", "apascal", "--data", str(tmp_path)] if name == "panels" else [str(tmp_path / "a.model")]
    command = [sys.executable, f"benchmarks/{name}.py", *own, "-o", "docs/images/made.jpg"]
    run = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert run.returncode == 2
    assert "no real photo may be" in run.stderr
