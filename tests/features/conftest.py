import numpy as np
import pytest

from tagsight.features.efficientnet import PACKAGES, locate_weights, open_builtin
from tagsight.features.weights import read_weights


@pytest.fixture(scope="session")
def weights_path():
    """Of EfficientNet-Lite0."""
    return locate_weights("lite0")


@pytest.fixture(scope="session")
def weights_by_network():
    """State dicts by the name of the built-in network."""
    return {name: read_weights(locate_weights(name)) for name in PACKAGES}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def backbone(cache):
    """EfficientNet-Lite2, the default."""
    return open_builtin("lite2", size=96, folder=cache)


@pytest.fixture
def photo():
    """Smooth shades with noise, 60 x 90."""
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:60, :90]
    shades = np.stack([rows * 4, columns * 2, 255 - rows - columns], axis=2)
    return np.clip(shades + rng.integers(-20, 20, shades.shape), 0, 255).astype(np.uint8)


@pytest.fixture
def ragged_labels():
    """Regions of a 60 x 90 photo: irregular cells, a speck of one pixel, and a region in two parts."""
    rng = np.random.default_rng(4)
    seeds = rng.uniform(size=(9, 2)) * (60, 90)
    rows, columns = np.mgrid[:60, :90]
    labels = np.argmin([(rows - y) ** 2 + (columns - x) ** 2 for y, x in seeds], axis=0)
    labels[labels == 8] = 2
    labels[7, 11] = 8
    return labels.astype(np.int32)
