"""Segmentation imports no plotting library: the import is slow and needs a writable home folder."""

import subprocess
import sys


def test_regions_do_not_import_matplotlib() -> None:
    program = "import sys, tagsight.regions.hierarchy; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
    program = "import sys, matplotlib, tagsight.regions.hierarchy; sys.exit('matplotlib' not in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
