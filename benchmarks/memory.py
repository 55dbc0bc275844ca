"""Training with features larger than memory: peak resident memory under a limit, and equality with training in memory.

Photos are drawn when they are needed and never stored, like photos in the feature cache. One fit with both fields and
the trials of free factors is measured in a process of its own, in memory and under the limit; --classifiers adds the
localisation model and the region classifiers.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

import numpy as np

from record import write_result
from tagsight.data.vocabulary import Tags
from tagsight.engine.checkpoint import Checkpoint
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.interrupts import Stop
from tagsight.runtime.memory import measure_resident, read_size
from tagsight.training import fit as fitting
from tagsight.training.options import TrainOptions
from tagsight.types import Array
from workload import COLUMNS, N_ATTRIBUTES, N_FREE, N_OBJECTS, ROWS, grid_edges

WIDTH = fitting.LENGTH  # length of the vectors of the model and of the drawn ones
PHOTO = 4 * ROWS * COLUMNS * WIDTH  # bytes of the vectors of a photo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", default="4GiB", help="size of all vectors")
    parser.add_argument("--budget", default="1GiB")
    parser.add_argument("--sweeps", type=int, default=12, help="at most")
    parser.add_argument("--classifiers", action="store_true")
    parser.add_argument("--folder", type=Path, help="folder for batches on disk; by default a temporary one")
    parser.add_argument("--only", choices=["held", "stored"], help="one of the two, in this process; prints JSON")
    options = parser.parse_args()
    n_photos = read_size(options.features) // PHOTO
    if options.only:
        budget = read_size(options.budget) if options.only == "stored" else None
        print(json.dumps(measure(n_photos, budget, options.sweeps, options.classifiers, options.folder)))
        return
    stored, held = (json.loads(run.communicate()[0]) for run in [start_alone(kind) for kind in ("stored", "held")])
    budget = read_size(options.budget)
    write_result(
        "memory",
        {
            "photos": n_photos,
            "regions_per_photo": ROWS * COLUMNS,
            "D": WIDTH,
            "K": N_OBJECTS + N_ATTRIBUTES + N_FREE,
            "features_bytes": n_photos * PHOTO,
            "budget_bytes": budget,
            "under_the_budget": stored,
            "in_memory": held,
            "kept": stored["peak_bytes"] <= budget,
            "bound_relative_difference": abs(stored["bound"][-1] / held["bound"][-1] - 1),
            "same_bits": stored["sha256"] == held["sha256"],
        },
    )


def start_alone(kind: str) -> subprocess.Popen[str]:
    """Run both at the same time: their memory is measured, not their time."""
    return subprocess.Popen(
        [sys.executable, __file__, *sys.argv[1:], "--only", kind], stdout=subprocess.PIPE, text=True
    )


class DrawnPhotos(Sequence[PhotoFeatures]):
    """Photos of noise around the appearances of their tags, drawn whenever they are indexed."""

    def __init__(self, tags: Array, numbers: range):
        self._tags = tags
        self._numbers = numbers
        self._appearance = np.random.default_rng(0).standard_normal((tags.shape[1], WIDTH))
        self._labels = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
        self._edges = grid_edges().astype(np.int32)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> PhotoFeatures: ...

    @overload
    def __getitem__(self, index: slice) -> "DrawnPhotos": ...

    def __getitem__(self, index: int | slice) -> "PhotoFeatures | DrawnPhotos":
        if isinstance(index, slice):
            return DrawnPhotos(self._tags, self._numbers[index])
        number = self._numbers[index]
        rng = np.random.default_rng([1, number])
        on = (rng.random((ROWS * COLUMNS, self._tags.shape[1])) < 0.3) * self._tags[number]
        features = on @ self._appearance + rng.standard_normal((ROWS * COLUMNS, WIDTH))
        boundary = np.ones(len(self._edges), np.float32)
        return PhotoFeatures(features.astype(np.float16), self._labels, self._edges, boundary, (COLUMNS, ROWS))


def measure(
    n_photos: int, budget: int | None, sweeps: int, with_classifiers: bool, folder: Path | None
) -> dict[str, Any]:
    fitting.FEWEST_TO_HOLD_OUT = n_photos + 1  # one fit, without calibration
    fitting.MAX_SWEEPS, fitting.TOL = sweeps, 1e-2  # converges early, so that trials are run
    rng = np.random.default_rng(0)
    chances = np.repeat([1.5 / N_OBJECTS, 12 / N_ATTRIBUTES], [N_OBJECTS, N_ATTRIBUTES])
    matrix = (rng.random((n_photos, len(chances))) < chances).astype(np.uint8)
    tags = Tags(*np.hsplit(matrix, [N_OBJECTS]))
    resident = measure_resident()
    start = time.perf_counter()
    checkpoint = None if folder is None else Checkpoint(folder, Stop())
    fitted = fitting.fit_photos(
        DrawnPhotos(matrix, range(n_photos)),
        tags,
        TrainOptions(n_free=N_FREE, classifiers=with_classifiers, memory=budget),
        checkpoint=checkpoint,
    )
    total = sha256()
    learned, classifiers = fitted.predictor.parts.learned, fitted.predictor.parts.classifiers
    for array in (*learned.summary, *learned.state.appearance, learned.state.affinity):
        total.update(np.asarray(array).tobytes())
    if classifiers:
        for linear in (classifiers.photo_classifier, classifiers.objects, classifiers.attributes.regions):
            total.update(linear.weights.tobytes())
    return {
        "resident_before_bytes": resident,
        "peak_bytes": measure_peak(),
        "seconds": time.perf_counter() - start,
        "bound": fitted.bound,
        "sha256": total.hexdigest(),
    }


def measure_peak() -> int:
    """The peak memory of this process; that of getrusage would include the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
