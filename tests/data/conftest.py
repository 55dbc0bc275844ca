from pathlib import Path

import pytest
from made_folder import Make, fill_folder


@pytest.fixture
def make_folder(tmp_path: Path) -> Make:
    def make(photos: tuple[str, ...] = (), **files: str | bytes) -> Path:
        return fill_folder(tmp_path, photos, files)

    return make
