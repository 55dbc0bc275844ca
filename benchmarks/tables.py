"""Write the tables of README and docs from benchmarks/results/*.json, between markers with their names."""

import json
import re
from pathlib import Path
from statistics import mean, stdev
from textwrap import fill
from typing import Any, NamedTuple

from record import RESULTS
from tagsight_bench.methods import MODEL_ABLATIONS

ROOT = Path(__file__).parents[1]


def main() -> None:
    insert(ROOT / "README.md", "iteration-table", iteration_table(read("iteration")))
    insert(ROOT / "README.md", "demo-table", demo_table(read("demo")))
    insert(ROOT / "docs/explanation/model.md", "starts-table", starts_table(read("starts")))
    insert(ROOT / "docs/explanation/model.md", "candidates-table", candidates_table())


def read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def insert(page: Path, marker: str, table: str) -> None:
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    text, n = pattern.subn(lambda match: match[1] + table + match[2], page.read_text())
    if n != 1:
        raise SystemExit(f"{page} has no markers {marker}")
    page.write_text(text)


class _Column(NamedTuple):
    """A column of the table of settings."""

    title: str
    cells: str  # folder of the collection's cells: collection/validation/table
    attributes: int
    keys: tuple[str, ...]  # of the figure


CANDIDATE_COLUMNS = (
    *(_Column(f"mIoU, {n} attributes", "apascal/validation/segmentation", n, ("miou",)) for n in (0, 8, 64, 74)),
    *(_Column(f"AP@{t}", "apascal/validation/annotation", 64, ("ap_at", t)) for t in ("2", "5", "8")),
    _Column("GN", "apascal/validation/annotation", 64, ("given_name_map",)),
    _Column("GL", "apascal/validation/annotation", 64, ("given_location_map",)),
    _Column("pairs", "apascal/validation/queries", 64, ("pairs", "mar")),
    _Column("triples", "apascal/validation/queries", 64, ("triples", "mar")),
    _Column("per pixel", "labelme/validation/inductive", 0, ("pixel_accuracy",)),
    _Column("per class", "labelme/validation/inductive", 0, ("class_accuracy",)),
)


def candidates_table() -> str:
    """Figures of class activation, the presets and alternative settings, on held-out training photos."""
    rows = [
        (method, *(_read_figures(column, method) for column in CANDIDATE_COLUMNS))
        for method in ("activation", "additive", "ws-mrf-sibp", *MODEL_ABLATIONS)
    ]
    measured = [row for row in rows if any(row[1:])]
    return tabulate(("settings", *(column.title for column in CANDIDATE_COLUMNS)), measured)


def _read_figures(column: _Column, method: str) -> str:
    """Mean and standard deviation over the measured seeds, in percent; empty if there are none."""
    found: list[float] = []
    for place in sorted(
        (RESULTS / "validation" / column.cells / "deep").glob(f"{method}-{column.attributes}-[0-9].json")
    ):
        figure: Any = json.loads(place.read_text())["figures"]
        for key in column.keys:
            figure = figure[key]
        found.append(100 * figure)
    spread = f" ± {stdev(found):.1f}" if len(found) > 1 else ""
    return f"{mean(found):.1f}{spread}" if found else ""


def iteration_table(r: dict[str, Any]) -> str:
    machine, last, inference = r["machine"], r["scaling"][-1], r["inference"]
    rows = [
        ("one sweep, fields on", f"{r['sweep_s']:.2f} s"),
        ("its two largest products alone (NumPy)", f"{r['floor_s']:.2f} s"),
        ("ratio", f"{r['ratio']:.2f}"),
        ("a sweep in the paper's order (NumPy)", f"{r['literal_numpy_sweep_s']:.1f} s"),
        ("speed-up over it", f"{r['speed_up_over_literal']:.0f} x"),
        ("peak memory of a fit (features: {:.0f} MB)".format(r["features_mb"]), f"{r['peak_memory_mb']:.0f} MB"),
        (f"{last['photos']:,} photos: time over linear growth", f"{last['over_linear']:.2f}"),
        ("inference for a photo from its features, one core, median", f"{inference['median_ms']:.1f} ms"),
        ("inference, slowest of 50 photos", f"{inference['slowest_ms']:.1f} ms"),
    ]
    head = (
        f"{r['photos']:,} photos x {r['regions_per_photo']} regions, D = {r['D']}, K = {r['K']} "
        f"({r['active_factors']:.1f} of them allowed in a photo), float32, {r['threads']} threads of "
        f"{machine['cores']} cores ({machine['cpu']}). The paper reports 80 s per iteration."
    )
    return fill(head, 118) + "\n\n" + tabulate(("", ""), rows)


def demo_table(r: dict[str, Any]) -> str:
    rows = [
        (
            str(row["seed"]),
            f"{100 * row['object_miou']:.1f}",
            f"{row['association']:.0%} of {row['n_associations']}",
            f"{row['hidden_correlation']:.2f}",
        )
        for row in r["rows"]
    ]
    names = ("seed", "object mIoU", "adjectives assigned to the right one of two objects", "hidden attribute")
    return tabulate(names, rows)


def starts_table(r: dict[str, Any]) -> str:
    rows = [
        (
            row["choice"],
            f"{row['bound']:,.0f}",
            f"{row['f1_train']:.3f}",
            f"{row['f1_unseen']:.3f}",
            f"{row['free_recovered']:.0%}",
            f"{row['sweeps']:.0f}",
        )
        for row in r["rows"]
    ]
    names = ("choice", "mean bound", "lowest F1, training", "lowest F1, unseen", "all free factors found", "sweeps")
    return tabulate(names, rows)


def tabulate(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [names, tuple("---" if k == 0 else "---:" for k in range(len(names))), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
