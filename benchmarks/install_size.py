"""Size of the wheel and of the base installation, and the time of `import tagsight`.

    python benchmarks/install_size.py [SOURCE] [--packages N]

The wheel of SOURCE (by default this repository) is built and installed by pip, with its dependencies, into a new
virtual environment in a temporary folder. The size is that of site-packages, with compiled byte code and without pip
and setuptools. The import time is the minimum of five runs with `-X importtime`, each in a new process, after one run
that is not counted.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from pathlib import Path

RUNS = 5
INSTALLERS = re.compile(r"(pip|setuptools|_distutils_hack|distutils-precedence|pkg_resources|wheel)\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, nargs="?", default=Path(__file__).parents[1], help="folder of the package")
    parser.add_argument("--packages", type=int, default=20, help="number of the largest packages to list")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        wheel = build_wheel(arguments.source, place / "dist")
        python = install(wheel, place / "venv")
        sizes = measure_packages(python)
        print(f"wheel {wheel.stat().st_size / 1e3:.0f} kB")
        print(f"base install {sum(sizes.values()) / 2**20:.1f} MiB on disk")
        for name, size in sizes.most_common(arguments.packages):
            print(f"    {name} {size / 2**20:.0f} MiB")
        print(f"import tagsight {measure_import(python) / 1e3:.0f} ms")


def build_wheel(source: Path, folder: Path) -> Path:
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel and its dependencies in a new virtual environment; returns its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    run([str(python), "-m", "pip", "install", "--quiet", str(wheel)])
    return python


def measure_packages(python: Path) -> Counter[str]:
    """Bytes on disk of each entry of site-packages, as `du` counts them."""
    place = Path(run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    sizes: Counter[str] = Counter()
    for entry in place.iterdir():
        if not INSTALLERS.match(entry.name):
            files = [entry, *entry.rglob("*")] if entry.is_dir() else [entry]
            sizes[entry.name] = sum(512 * file.lstat().st_blocks for file in files)
    return sizes


def measure_import(python: Path) -> float:
    """Microseconds of `import tagsight`."""
    command = [str(python), "-X", "importtime", "-c", "import tagsight"]
    times: list[int] = []
    for _ in range(RUNS + 1):
        lines = subprocess.run(command, check=True, capture_output=True, text=True, cwd=os.sep).stderr.splitlines()
        (line,) = (line for line in lines if line.rsplit("|", 1)[-1].strip() == "tagsight")
        times.append(int(line.split("|")[1]))
    return min(times[1:])


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
