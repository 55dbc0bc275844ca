"""Panels of rendered photos."""

from pathlib import Path

import numpy as np
import pytest

from tagsight.bench.panels import GAP, HEADING, HEIGHT, Picture, draw_panels, outline_photos, tint_labels
from tagsight.bench.sources.rendered import read_rendered
from tagsight.bench.trial import describe_source
from tagsight.data.synthetic import read_classes, read_truth
from tagsight.data.synthetic.palette import make_voc_palette
from tagsight.features.describer import Recipe
from tagsight.progress import stay_silent

from .conftest import METHOD


def test_photos_beside_their_outlines_and_the_truth(demo: Path) -> None:
    source = read_rendered(demo / "photos", "photos")
    described = describe_source(source, Recipe("deep"), stay_silent, "", n_workers=1)
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
