"""Draw docs/images/scaling.svg and write the tables of docs/explanation/scale.md from results/*.json.

    python benchmarks/scaling_page.py

Sweeps of threads and Ray actors are from scaling.json, the overhead of Ray from cluster.json, sweeps of a GPU from
scaling_gpu.json, feature extraction from regions.json and gpu.json, inference from iteration.json.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from record import RESULTS
from tables import ROOT, insert, read, tabulate

PAGE = ROOT / "docs/explanation/scale.md"
PICTURE = ROOT / "docs/images/scaling.svg"
MACHINES = (1, 16)


class Curve(NamedTuple):
    """Seconds per sweep and bytes against the number of photos."""

    name: str
    photos: list[int]
    seconds: list[float]
    memory: list[int]


class Assumed(NamedTuple):
    """The assumptions for a million photos on GPU machines."""

    photos: int = 1_000_000
    cores: int = 16  # of a machine
    fits: int = 4  # two for calibration, two on all photos
    sweeps: int = 100  # per fit
    hour: float = 4.0  # USD for a machine with an H200


def main() -> None:
    curves = list(list_curves())
    draw(curves)
    insert(PAGE, "scaling-table", scaling_table(curves))
    insert(PAGE, "overhead-table", overhead_table())
    insert(PAGE, "cost-table", cost_table(Assumed()))


def list_curves() -> Iterator[Curve]:
    runs = read("scaling")["runs"]
    for engine, cpu, workers in sorted({(r["engine"], r["machine"]["cpu"], r["workers"]) for r in runs}):
        mine = [r for r in runs if (r["engine"], r["machine"]["cpu"], r["workers"]) == (engine, cpu, workers)]
        name = f"{workers} threads" if engine == "local" else f"{workers} Ray actors"
        yield make_curve(f"{name}, {cpu}", mine, "sweep_s", "peak_bytes")
    gpu = read("scaling_gpu")
    for precision in ("float32", "bfloat16"):
        yield make_curve(f"{gpu['gpu']}, {precision}", gpu[precision], "seconds_per_sweep", "bytes")


def make_curve(name: str, rows: list[dict[str, Any]], seconds: str, memory: str) -> Curve:
    rows = sorted(rows, key=lambda row: row["photos"])
    return Curve(name, *([row[column] for row in rows] for column in ("photos", seconds, memory)))


def draw(curves: list[Curve]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tagsight"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4))
    for curve, mark in zip(curves, "osv^DP", strict=False):
        left.plot(curve.photos, curve.seconds, marker=mark, label=curve.name)
        right.plot(curve.photos, [size / 1e9 for size in curve.memory], marker=mark)
    for axes, label in ((left, "seconds per sweep"), (right, "GB at the peak")):
        axes.set(xscale="log", yscale="log", xlabel="photos (80 regions each)", ylabel=label)
        axes.grid(alpha=0.3)
    left.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})


def scaling_table(curves: list[Curve]) -> str:
    sizes = sorted({n for curve in curves for n in curve.photos})
    rows = []
    for curve in curves:
        found = dict(zip(curve.photos, zip(curve.seconds, curve.memory, strict=True), strict=True))
        cells = (f"{found[n][0]:.3g} s, {found[n][1] / 1e9:.2g} GB" if n in found else "" for n in sizes)
        rows.append((curve.name, *cells))
    return tabulate(("", *(f"{n:,} photos" for n in sizes)), rows)


def overhead_table() -> str:
    """Milliseconds per sweep of threads of one process, of processes connected by pipes, and of Ray actors."""
    rows = read("cluster")["overhead"]
    names = ("", *(f"{row['photos']:,} photos" for row in rows))
    kinds = [key.removesuffix("_ms") for key in rows[0] if key.endswith("_ms")]
    kinds.sort(key=lambda kind: ("threads", "processes", "actors").index(kind.split("_")[0]))
    return tabulate(
        names,
        [(kind.replace("_", ", "), *(f"{row[f'{kind}_ms']:.0f} ms" for row in rows)) for kind in kinds],
    )


def cost_table(assumed: Assumed) -> str:
    """Hours of each part by the number of machines; the formula is on the page."""
    columns = {machines: hours_of(machines, assumed) for machines in MACHINES}
    rows = [
        (part, *(f"{columns[machines][part]:.2f} h" for machines in MACHINES)) for part in next(iter(columns.values()))
    ]
    totals = {machines: sum(parts.values()) for machines, parts in columns.items()}
    rows.append(("together", *(f"{totals[machines]:.2f} h" for machines in MACHINES)))
    rows.append(("machine hours", *(f"{machines * totals[machines]:.1f}" for machines in MACHINES)))
    rows.append(("USD", *(f"{machines * totals[machines] * assumed.hour:.0f}" for machines in MACHINES)))
    return tabulate(("", *(f"{machines} machine{'s' * (machines > 1)}" for machines in MACHINES)), rows)


def hours_of(machines: int, assumed: Assumed) -> dict[str, float]:
    n, cores = assumed.photos, assumed.cores
    cut = read("regions")["median_processor_seconds_a_photo"]
    regions = (cut["segment_photo"] + cut["read"]) / cores
    network = 1 / max(batch["photos_per_s"] for batch in read("gpu")["network"]["batches"].values())
    seconds = {
        "feature extraction": n * max(regions, network) / machines,
        "sweeps": assumed.fits * assumed.sweeps * (sweep_seconds(n / machines) + cluster_seconds(machines)),
        "posteriors of the training photos, on one machine": (
            assumed.fits * n * read("iteration")["inference"]["median_ms"] / 1e3 / cores
        ),
    }
    return {part: value / 3600 for part, value in seconds.items()}


def sweep_seconds(n_photos: float) -> float:
    """In bfloat16, from the line through the two largest sizes measured; with the global step."""
    (*_, (n0, s0), (n1, s1)) = [(row["photos"], row["seconds_per_sweep"]) for row in read("scaling_gpu")["bfloat16"]]
    slope = (s1 - s0) / (n1 - n0)
    return s1 + slope * (n_photos - n1) + max(row["global_step_s"] for row in read("scaling_gpu")["bfloat16"])


def cluster_seconds(machines: int) -> float:
    """The overhead of Ray per sweep: that of two actors over two threads, at most, times the depth of the tree."""
    sweeps = {(r["engine"], r["photos"]): r["sweep_s"] for r in read("scaling")["runs"] if r["workers"] == 2}
    two = max(s - sweeps["local", n] for (engine, n), s in sweeps.items() if engine == "ray" and ("local", n) in sweeps)
    return two * math.ceil(math.log2(machines))


if __name__ == "__main__":
    assert (RESULTS / "scaling_gpu.json").exists(), "run benchmarks/gpu.py --scaling on a machine with a GPU first"
    main()
