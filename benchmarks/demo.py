"""The scores of `make demo` on the test photos of its rendered collection, for three seeds.

python benchmarks/demo.py
"""

import tempfile
from pathlib import Path

from record import write_result
from tagsight.demo.run import run_demo
from tagsight.runtime.progress import no_progress

PHOTOS = 300
SEEDS = 3


def main() -> None:
    rows: list[dict[str, float]] = []
    for seed in range(SEEDS):
        with tempfile.TemporaryDirectory() as folder:
            _, scores = run_demo(Path(folder), n_photos=PHOTOS, seed=seed, report=no_progress)
        rows.append(
            {
                "seed": seed,
                "object_miou": round(scores.object_miou, 4),
                "association": round(scores.association, 4),
                "n_associations": scores.n_associations,
                "hidden_correlation": round(scores.hidden_correlation, 4),
            }
        )
    write_result("demo", {"photos": PHOTOS, "rows": rows})


if __name__ == "__main__":
    main()
