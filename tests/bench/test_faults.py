"""The commands that `benchmarks/faults.py` stops, kills or runs on a full disk."""

import signal
from pathlib import Path
from typing import Any

import pytest
from benchmarks import full_disk, stops
from typer.core import TyperCommand
from typer.testing import CliRunner

from tagsight.cli.app import COMMANDS
from tagsight.cli.app import make_app as make_tagsight
from tagsight_bench.cli import make_app as make_bench
from tagsight_bench.plan import Request, plan_cells

APPS = {"tagsight": make_tagsight, "tagsight-bench": make_bench}
OUT = Path("out")
INPUTS = stops.Inputs(Path("photos"), Path("a.model"), Path("a.index"))
CASES = {case.name: [*case.command(OUT), *case.resume] for case in stops.make_cases(INPUTS)}
PREPARED = {
    "train of the inputs": stops.train(INPUTS, INPUTS.model),
    "index of the inputs": stops.index_photos(INPUTS, INPUTS.index_folder, "test"),
}
ON_FULL_DISK = {
    f"{name} on a full disk": ["tagsight", *command]
    for name, command in full_disk.list_commands(full_disk.Inputs("photos", "a.model", "a.index"), OUT).items()
}
LINES = CASES | PREPARED | ON_FULL_DISK


def parse(line: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | None:
    """The values of a command line, which is not run; None if its parser refuses it."""
    parsed: list[dict[str, Any]] = []
    monkeypatch.setattr(TyperCommand, "invoke", lambda _, context: parsed.append(context.params), raising=False)
    program, *arguments = line
    ended = CliRunner().invoke(APPS[program](), arguments)
    assert len(parsed) == (ended.exit_code == 0), ended.output
    return parsed[0] if parsed else None


@pytest.mark.parametrize("name", LINES)
def test_every_command_line_is_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(LINES[name], monkeypatch)


@pytest.mark.parametrize(
    "line", [["tagsight", "bench"], [*CASES["train"], "--removed"], [*CASES["tagsight-bench"], "x"]]
)
def test_a_removed_command_or_option_would_be_refused(line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(line, monkeypatch) is None


def test_every_command_that_writes_much_is_stopped_and_filled() -> None:
    stopped = {line[1] for line in CASES.values() if line[0] == "tagsight"}
    filled = {line[1] for line in ON_FULL_DISK.values()}
    assert stopped == {"train", "index", "export", "segment", "serve"}
    silent = {"annotate", "decisions", "describe", "inspect", "models", "review", "serve"}
    in_place = {"write-back"}  # writes among the user's photos, of which the full disk has none
    assert filled == set(COMMANDS) - silent - in_place, "the others write no file"


def test_the_benchmark_that_is_stopped_has_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    values = parse(CASES["tagsight-bench"], monkeypatch)
    assert values
    request = Request(values["collection"], tuple(values["table"]), tuple(values["methods"]), n_seeds=values["seeds"])
    assert [cell.table for cell in plan_cells(request)] == ["annotation"]


@pytest.mark.parametrize("advice", [*stops.ADVICE.values(), stops.BENCH_ADVICE])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_sentence_of_a_stopped_command_is_recognised(advice: str, number: signal.Signals, code: int) -> None:
    sentence = f"tagsight: stopped by {number.name}; {advice}\n"
    assert not any(stops.find_faults(stops.End(code, sentence, 0.1, 1)).values())


@pytest.mark.parametrize(
    ("code", "stderr", "fault"),
    [
        (130, "", "wrong_ends"),
        (130, "tagsight: stopped by SIGINT; something else\n", "wrong_ends"),
        (1, "Traceback (most recent call last):\n", "tracebacks"),
        (-11, "", "crashes"),
    ],
)
def test_a_wrong_end_is_a_fault(code: int, stderr: str, fault: str) -> None:
    assert stops.find_faults(stops.End(code, stderr, 0.1, 1))[fault] == 1
