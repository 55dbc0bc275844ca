import os
from pathlib import Path

import pytest

from tagsight.data.planted import Planted, draw_appearance, draw_planted

N_OBJECTS, N_ATTRIBUTES, N_FREE = 2, 3, 2


@pytest.fixture(scope="session")
def small() -> Planted:
    """Twenty planted photos of six regions, K = 7, D = 8."""
    appearance = draw_appearance(N_OBJECTS + N_ATTRIBUTES + N_FREE, 8, seed=0)
    return draw_planted(appearance, N_FREE, n_photos=20, n_regions=6, noise=0.4, tags_per_photo=2.5, seed=1)


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Find the folder of real datasets, which is never part of the project."""
    place = Path(os.environ.get("TAGSIGHT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip(f"no real data in {place}; set TAGSIGHT_DATA to the folder that holds apascal/")
    return place
