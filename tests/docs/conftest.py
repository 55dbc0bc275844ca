"""A small collection for the code of the README and of docstrings."""

import re
from pathlib import Path

import pytest

from tagsight.demo import render_collection

WORDS = {"car": "horse", "plain": "furry", "red": "brown"}  # of the rendered collection, and the README's instead


@pytest.fixture
def example_photos(tmp_path: Path) -> Path:
    """A folder with photos/, new/ and a.jpg."""
    render_collection(tmp_path / "rendered", n_photos=32, seed=0)
    photos = tmp_path / "photos"
    (tmp_path / "rendered/train").rename(photos)
    (tmp_path / "new").mkdir()
    for number, path in enumerate(sorted((tmp_path / "rendered/test").glob("*.jpg"))[:2]):
        path.rename(tmp_path / ("a.jpg" if number == 0 else "new/b.jpg"))
    listing = photos / "tags.csv"
    listing.write_text(re.sub(r"\w+", lambda found: WORDS.get(found[0], found[0]), listing.read_text()))
    return tmp_path
