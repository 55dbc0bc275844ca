import os
from pathlib import Path

import pytest
from made_folder import Make, fill_folder


@pytest.fixture
def make_folder(tmp_path: Path) -> Make:
    def make(photos: tuple[str, ...] = (), **files: str | bytes) -> Path:
        return fill_folder(tmp_path, photos, files)

    return make


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Find the folder of real datasets, which is never part of the project."""
    place = Path(os.environ.get("TAGSIGHT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip(f"no real data in {place}; set TAGSIGHT_DATA to the folder that holds apascal/")
    return place
