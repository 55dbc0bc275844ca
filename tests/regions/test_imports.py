"""Cutting regions loads no plotting library: it is slow, and wants a home folder that can be written to."""

import subprocess
import sys


def test_regions_do_without_matplotlib() -> None:
    program = "import sys, tagsight.regions.hierarchy; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
    program = "import sys, matplotlib, tagsight.regions.hierarchy; sys.exit('matplotlib' not in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
