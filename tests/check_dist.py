"""Check the packages in dist: what they hold, and that the wheel installs and runs without the repository."""

import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "src" / "tagsight"


def main() -> None:
    """Check both packages; the first difference ends the program."""
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    (wheel,) = (REPOSITORY / "dist").glob("*.whl")
    (source,) = (REPOSITORY / "dist").glob("*.tar.gz")
    check_wheel(wheel, version)
    check_source(source, version)
    with tempfile.TemporaryDirectory() as folder:
        check_install(wheel, version, Path(folder))
    for path in (wheel, source):
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


def check_wheel(wheel: Path, version: str) -> None:
    """The wheel has the files of the package, its metadata and the licence, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    package = {name for name in package if "__pycache__" not in name}
    info = f"tagsight-{version}.dist-info"
    metadata = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    if names != package | metadata:
        sys.exit(f"{wheel.name} differs from src/tagsight in {sorted(names ^ (package | metadata))}")
    if "tagsight/py.typed" not in names:
        sys.exit(f"{wheel.name} has no py.typed")


def check_source(source: Path, version: str) -> None:
    """The source distribution has what the package is built from and tested with."""
    with tarfile.open(source) as archive:
        names = set(archive.getnames())
    shipped = "src/tagsight/starter/starter.model"
    needed = ("LICENSE", "README.md", "pyproject.toml", "src/tagsight/py.typed", shipped, "tests/conftest.py")
    missing = [name for name in needed if f"tagsight-{version}/{name}" not in names]
    if missing:
        sys.exit(f"{source.name} has no {', '.join(missing)}")


def check_install(wheel: Path, version: str, folder: Path) -> None:
    """In a new environment the command prints its version, annotates a photo and trains a model that Python loads."""
    venv.create(folder / "venv", with_pip=True)
    python, command = folder / "venv/bin/python", folder / "venv/bin/tagsight"
    run(folder, python, "-m", "pip", "install", "--quiet", wheel)
    run(folder, python, "-m", "pip", "check")
    printed = run(folder, command, "--version").strip()
    if printed != f"tagsight {version}":
        sys.exit(f"`tagsight --version` prints {printed!r} instead of 'tagsight {version}'")
    photo = REPOSITORY / "docs/images/photos/cat.jpg"
    if "  cat " not in run(folder, command, "annotate", photo):
        sys.exit(f"`tagsight annotate` does not find the cat in {photo.name}")
    run(folder, command, "demo", "-o", "demo", "--photos", "20")
    run(folder, python, "-c", "import tagsight; tagsight.load('demo/demo.model')")


def run(folder: Path, *command: object) -> str:
    """Run a command in the folder, with a cache of its own, and return what it prints."""
    environment = {**os.environ, "TAGSIGHT_CACHE": str(folder / "cache")}
    words = [str(part) for part in command]
    ended = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(f"failed with exit code {ended.returncode}: {' '.join(words)}\n{ended.stdout}")
    return ended.stdout


if __name__ == "__main__":
    main()
