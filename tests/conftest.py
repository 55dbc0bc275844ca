import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis
import pytest

from tagsight.model.planted import Planted, draw_appearance, draw_planted

N_OBJECTS, N_ATTRIBUTES, N_FREE = 2, 3, 2

hypothesis.settings.register_profile("untimed", deadline=None)  # tests may be slow
hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def own_cache() -> Iterator[None]:
    """A cache for this run and the processes it starts; the user's cache is neither read nor changed."""
    with TemporaryDirectory(prefix="tagsight-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAGSIGHT_CACHE", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> Iterator[None]:
    """Default signal handlers: `nohup` and background jobs of a shell ignore some signals, as would child processes."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    ignored = [number for number in usual if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, usual[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


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
    """The folder of real datasets, which is never part of the project."""
    place = Path(os.environ.get("TAGSIGHT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip(f"no real data in {place}; set TAGSIGHT_DATA to the folder that holds apascal/")
    return place
