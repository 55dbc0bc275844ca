"""The example of the page on arrays runs, and the model recovers nearly all planted tags."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import read_blocks


@pytest.mark.slow
def test_the_example_recovers_nearly_all_pairs(repository: Path) -> None:
    (code,) = read_blocks(repository / "docs/howto/arrays.md", "python")
    command = [sys.executable, "-W", "error", "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    share = re.fullmatch(r"([\d.]+)% of all \(region, tag\) pairs are correct\n", printed)
    assert share is not None
    assert float(share[1]) > 99
