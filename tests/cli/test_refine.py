"""The how-to page on outlines, line by line."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .conftest import Trained, call


@pytest.mark.slow
def test_the_page_runs_and_refined_masks_differ_at_edges_only(
    repository: Path, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (repository / "docs/howto/outlines.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 2
    (tmp_path / "my.model").symlink_to(trained.model)
    (tmp_path / "photos").symlink_to(trained.photos / "test")
    monkeypatch.chdir(tmp_path)
    for line in lines:
        result = call(*shlex.split(line)[1:], "--threshold", 0.05)
        assert result.exit_code == 0, result.output
    plain = [np.asarray(Image.open(path)) for path in sorted(tmp_path.glob("plain/*.png"))]
    refined = [np.asarray(Image.open(path)) for path in sorted(tmp_path.glob("refined/*.png"))]
    assert len(plain) == len(refined) > 0
    share = [np.mean(one != other) for one, other in zip(plain, refined, strict=True)]
    assert 0 < np.mean(share) < 0.2
