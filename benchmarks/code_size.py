"""Size of the code, of the wheel and of the base installation, and start times, for revisions of the repository.

    python benchmarks/code_size.py [REVISION ...] [--no-install] [--packages N]

Each revision is unpacked by `git archive` into a temporary folder; by default a commit of the previous layout
and HEAD. Files are Python files, modules are those of src except `__init__.py`, and a function begins at its first
decorator. The wheel is built by `uv build`, as `make dist` does, and installed by pip, with its dependencies, into a
new virtual environment. The size of an installation is that of its site-packages with compiled byte code, without pip
and setuptools: the lengths of the files, and the blocks they take on disk. MB are 10^6 bytes. Times are medians of five
runs, each in a new process, after one run that is not counted: of `import tagsight` inside the process, and of the
whole process of `tagsight --version`. The result is in results/code_size.json.
"""

import argparse
import ast
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from record import write_result

ROOT = Path(__file__).parents[1]
REVISIONS = ("4f30e08", "HEAD")
FOLDERS = ("src", "benchmarks", "tests")
SHORT_MODULE, LONG_FUNCTION = 50, 60  # lines
RUNS = 5
MB = 1e6  # bytes
INSTALLERS = re.compile(r"(pip|setuptools|_distutils_hack|distutils-precedence|pkg_resources|wheel)\b")
IMPORT = "import time; start = time.perf_counter(); import tagsight; print(time.perf_counter() - start)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs="*", default=REVISIONS, help="names of commits, tags or branches")
    parser.add_argument("--no-install", action="store_true", help="only count code; builds and downloads nothing")
    parser.add_argument("--packages", type=int, default=5, help="number of the largest packages to list")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for revision in options.revisions:
        with TemporaryDirectory() as scratch:
            source = Path(scratch) / "source"
            commit = unpack(revision, source)
            row = {"revision": revision, "commit": commit, **count_code(source)}
            if not options.no_install:
                row |= measure_install(source, Path(scratch), options.packages)
        rows.append(row)
    write_result("code_size", {"units": {"mb": "10^6 bytes", "ms": "median of five runs"}, "revisions": rows})


def unpack(revision: str, folder: Path) -> str:
    """Write the files of a revision to a folder; returns the commit."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return run("git", "rev-parse", "--short=10", f"{revision}^{{commit}}", cwd=ROOT).strip()


def count_code(source: Path) -> dict[str, Any]:
    """Files, lines and long functions of each folder, and the lengths of the modules of src."""
    modules = [path for path in list_files(source / "src") if path.name != "__init__.py"]
    lengths = [count_lines(path) for path in modules]
    return {
        "files": {folder: len(list_files(source / folder)) for folder in FOLDERS},
        "lines": {folder: sum(map(count_lines, list_files(source / folder))) for folder in FOLDERS},
        "modules": len(modules),
        "modules_at_the_root": sum(path.parent == source / "src/tagsight" for path in modules),
        "median_module_lines": statistics.median(lengths),
        f"modules_of_{SHORT_MODULE}_lines_or_fewer": sum(length <= SHORT_MODULE for length in lengths),
        f"functions_above_{LONG_FUNCTION}_lines": {
            folder: sum(length > LONG_FUNCTION for path in list_files(source / folder) for length in measure_defs(path))
            for folder in FOLDERS
        },
    }


def list_files(folder: Path) -> list[Path]:
    """The Python files of a folder; none if it does not exist."""
    return sorted(folder.rglob("*.py"))


def count_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def measure_defs(path: Path) -> Iterator[int]:
    """The lines of each function of a file, with its decorators; inner functions also count on their own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield (node.end_lineno or first) - first + 1


def measure_install(source: Path, scratch: Path, n_packages: int) -> dict[str, Any]:
    """Sizes of the wheel and of an installation, and start times."""
    run(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", scratch / "dist", source)
    (wheel,) = (scratch / "dist").glob("*.whl")
    venv.create(scratch / "venv", with_pip=True)
    python, command = scratch / "venv/bin/python", scratch / "venv/bin/tagsight"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    sizes = measure_packages(packages)
    largest = sorted(sizes, key=lambda name: sizes[name].length, reverse=True)[:n_packages]
    return {
        "wheel_mb": round(wheel.stat().st_size / MB, 3),
        "install_mb": round(sum(size.length for size in sizes.values()) / MB, 1),
        "install_mb_on_disk": round(sum(size.on_disk for size in sizes.values()) / MB, 1),
        "largest_packages_mb": {name: round(sizes[name].length / MB, 1) for name in largest},
        "import_ms": measure_median(lambda: float(run(python, "-c", IMPORT))),
        "version_ms": measure_median(lambda: time_process(command, "--version")),
    }


class Size(NamedTuple):
    """Bytes of a file or folder."""

    length: int  # sum of the lengths of its files
    on_disk: int  # blocks of its files and folders, as `du` counts them


def measure_packages(packages: Path) -> dict[str, Size]:
    """The size of each entry of site-packages, without installers."""
    return {entry.name: measure_size(entry) for entry in packages.iterdir() if not INSTALLERS.match(entry.name)}


def measure_size(entry: Path) -> Size:
    paths = [entry, *entry.rglob("*")] if entry.is_dir() else [entry]
    stats = [path.lstat() for path in paths]
    length = sum(stat.st_size for path, stat in zip(paths, stats, strict=True) if path.is_symlink() or path.is_file())
    return Size(length, sum(512 * stat.st_blocks for stat in stats))


def measure_median(measure_seconds: Callable[[], float]) -> float:
    """Milliseconds."""
    measure_seconds()
    return round(1e3 * statistics.median(measure_seconds() for _ in range(RUNS)), 1)


def time_process(*command: object) -> float:
    start = time.perf_counter()
    run(*command)
    return time.perf_counter() - start


def run(*command: object, cwd: Path | str = os.sep) -> str:
    """The standard output of a command; it does not see the packages of a folder that this script runs in."""
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
