"""A rendered collection, and the method of the how-to page."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tagsight.demo import render_collection

METHOD = "nearest:MeanPhoto"


@pytest.fixture(scope="session")
def howto_method(repository: Path) -> str:
    """The code of the method on the how-to page."""
    (code,) = re.findall(r"```python\n(.*?)```", (repository / "docs/howto/bench.md").read_text(), re.DOTALL)
    return code


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, howto_method: str) -> Iterator[Path]:
    """A folder with rendered photos/ and nearest.py, which can be imported; features are cached beside them."""
    folder = tmp_path_factory.mktemp("bench")
    render_collection(folder / "photos", n_photos=24, seed=4)
    (folder / "nearest.py").write_text(howto_method)
    before = os.environ.get("TAGSIGHT_CACHE")
    os.environ["TAGSIGHT_CACHE"] = str(folder / "cache")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    if before is None:
        del os.environ["TAGSIGHT_CACHE"]
    else:
        os.environ["TAGSIGHT_CACHE"] = before
