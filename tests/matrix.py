"""The demo and the tests in other environments: `python -m tests.matrix [VARIANT...] [-- PYTEST OPTIONS...]`.

Each variant starts with empty caches and has other environment variables. One variant changes several settings at once
if a failure would still show which of them caused it. The exit code, the scores of the demo and the last line of the
tests are printed as one line of JSON per variant. With options for pytest the demo is left out.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

REPOSITORY = Path(__file__).parents[1]
DEMO = "from tagsight.cli.main import main; main()"
# Root may write to any folder, but not to a file system that is mounted read-only.
MOUNT_READ_ONLY = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none "$HOME" && exec "$@"', "sh")


class Variant(NamedTuple):
    """The differences of an environment from the present one."""

    settings: dict[str, str]
    read_only_home: bool = False


def _list_cpu_features() -> str:
    """Features of this processor that NumPy uses beyond its baseline."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return " ".join(found)


VARIANTS = {
    "unchanged": Variant({}),
    "1 BLAS thread, dumb terminal": Variant({"OPENBLAS_NUM_THREADS": "1", "TERM": "dumb"}),
    "2 BLAS threads, C locale": Variant({"OPENBLAS_NUM_THREADS": "2", "LANG": "C", "LC_ALL": "C"}),
    "4 BLAS threads, 1 Numba thread": Variant({"OPENBLAS_NUM_THREADS": "4", "NUMBA_NUM_THREADS": "1"}),
    "BLAS for Haswell": Variant({"OPENBLAS_CORETYPE": "Haswell"}),
    "BLAS for Sandybridge, read-only home": Variant({"OPENBLAS_CORETYPE": "Sandybridge"}, read_only_home=True),
    "no CPU features": Variant({"NPY_DISABLE_CPU_FEATURES": _list_cpu_features(), "NUMBA_CPU_NAME": "generic"}),
}


def run_variant(name: str, options: list[str]) -> dict[str, str | int]:
    """Run the demo (unless there are options) and the tests: exit code, scores of the demo, last line of the tests."""
    variant = VARIANTS[name]
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder)
        environment = {**os.environ, **_place_caches(empty, variant), **variant.settings}
        wrapper = MOUNT_READ_ONLY if variant.read_only_home and os.geteuid() == 0 else ()
        commands = {} if options else {"demo": ["-c", DEMO, "demo", "-o", str(empty / "demo")]}
        commands["tests"] = ["tests/clean_run.py", "-p", "no:cacheprovider", *options]
        result: dict[str, str | int] = {"variant": name, "exit": 0}
        for part, command in commands.items():
            run = subprocess.run(
                [*wrapper, sys.executable, *command], cwd=REPOSITORY, env=environment, capture_output=True, text=True
            )
            lines = [line for line in run.stdout.splitlines() if line.strip()]
            if run.returncode:
                print(run.stdout[-20_000:], run.stderr[-5_000:], sep="\n", file=sys.stderr)
            result[part] = lines[0 if part == "demo" else -1] if lines else run.stderr[-200:]
            result["exit"] = result["exit"] or run.returncode
    return result


def _place_caches(empty: Path, variant: Variant) -> dict[str, str]:
    """Environment variables for empty caches and an empty home folder, read-only if the variant requires it."""
    if not variant.read_only_home:
        return {"NUMBA_CACHE_DIR": str(empty / "numba"), "XDG_CACHE_HOME": str(empty / "cache")}
    home = empty / "home"
    home.mkdir(mode=0o500)
    return {"HOME": str(home), "XDG_CACHE_HOME": ""}


def main() -> None:
    """Run the named variants, or all; exit with 1 if one fails."""
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:cut] or list(VARIANTS), arguments[cut + 1 :]
    unknown = [name for name in names if name not in VARIANTS]
    if unknown:
        sys.exit(f"there is no variant {unknown[0]!r}; choose from {', '.join(VARIANTS)}")
    failed = False
    for name in names:
        result = run_variant(name, options)
        failed = failed or result["exit"] != 0
        print(json.dumps(result), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
