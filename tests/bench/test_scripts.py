"""The overview of the folder of benchmarks."""

import re
from pathlib import Path


def test_the_overview_names_every_script_and_no_other(repository: Path) -> None:
    folder = repository / "benchmarks"
    named = set(re.findall(r"`(\w+\.py)[` ]", (folder / "README.md").read_text()))
    assert named == {path.name for path in folder.glob("*.py")}


def test_the_overview_marks_what_make_bench_runs(repository: Path) -> None:
    marked = dict(
        re.findall(r"^\| `(\w+\.py)` (\\\*(?:\\\*)?) \|", (repository / "benchmarks/README.md").read_text(), re.M)
    )
    recipe = (repository / "Makefile").read_text().split("\nbench: ")[1].split("\n\n")[0]
    always, with_data = re.sub(r"ifdef.*endif\n", "", recipe, flags=re.S), re.findall(r"ifdef.*endif", recipe, re.S)[0]
    run = dict.fromkeys(re.findall(r"benchmarks/(\w+\.py)", always), r"\*")
    run |= dict.fromkeys(re.findall(r"benchmarks/(\w+\.py)", with_data), r"\*\*")
    assert len(run) > 5
    assert marked == run
