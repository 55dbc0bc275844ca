"""Worker processes: the same results in the same order from any kind of program, and they end with it."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagsight.errors import InputError, TagsightError
from tagsight.features import extract as extraction
from tagsight.features.extract import extract
from tagsight.features.extractor import ExtractorConfig
from tagsight.runtime.interrupts import STOP
from tagsight.runtime.workers import map_in_workers

EXTRACT = """
print("begins", flush=True)
import sys
from pathlib import Path
from tagsight.features.extractor import ExtractorConfig
from tagsight.features.extract import extract

photos = sorted(Path(sys.argv[1]).glob("*.png"))
print(len(extract(photos, ExtractorConfig("deep"), n_regions=8, n_workers=2).photos))
"""
WAIT = """
import sys
from tests.runtime.test_workers import wait_forever
from tagsight.runtime.workers import map_in_workers

for _ in map_in_workers(wait_forever, range(2), 2):
    pass
"""


def refuse_odd(number: int) -> int:
    if number % 2:
        raise InputError(f"{number} is odd")
    return number


def wait_forever(number: int) -> None:
    os.write(2, f"worker {number} works\n".encode())
    time.sleep(3600)


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{number}.png" for number in range(9)]
    for path in paths:
        Image.fromarray(rng.integers(0, 255, (48, 64, 3), np.uint8)).save(path)
    return paths


@pytest.mark.parametrize("n_workers", [1, 3])
def test_results_come_in_order(n_workers: int) -> None:
    assert list(map_in_workers(abs, range(-20, 0), n_workers)) == list(range(20, 0, -1))


def test_an_error_of_a_worker_is_raised_with_its_traceback() -> None:
    with pytest.raises(InputError, match=r"^7 is odd\n") as caught:
        list(map_in_workers(refuse_odd, [2, 4, 7, 8], 2))
    assert "in refuse_odd" in caught.value.__notes__[0]


def test_a_killed_worker_is_reported_in_one_sentence() -> None:
    with pytest.raises(TagsightError, match=r"^a worker process ended \(killed by SIGKILL\); .* fewer workers$"):
        list(map_in_workers(partial(signal.raise_signal), [signal.SIGKILL], 1))


def test_a_stop_does_not_wait_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STOP, "signal", signal.SIGINT)
    with pytest.raises(TagsightError, match="stopped by SIGINT"):
        list(map_in_workers(wait_forever, [1], 1))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_workers_end_with_the_program_that_started_them(repository: Path, number: signal.Signals) -> None:
    """Their standard error is that of the program: it is at its end when the last worker has ended."""
    with subprocess.Popen(
        [sys.executable, "-c", WAIT], cwd=repository, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stderr is not None
        messages = {program.stderr.readline() for _ in range(2)}
        program.send_signal(number)
        assert messages == {"worker 0 works\n", "worker 1 works\n"}
        assert program.communicate(timeout=60)[1] == ""
    assert program.returncode == -number


@pytest.mark.slow
@pytest.mark.parametrize("way", ["script", "-c", "standard input"])
def test_a_program_without_a_guard_may_use_them(way: str, photos: list[Path], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(EXTRACT)
    how = {"script": [str(script)], "-c": ["-c", EXTRACT], "standard input": ["-"]}[way]
    run = subprocess.run(
        [sys.executable, *how, str(tmp_path)],
        input=EXTRACT if way == "standard input" else None,
        capture_output=True,
        text=True,
        env=os.environ | {"TAGSIGHT_CACHE": str(tmp_path / "cache")},
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, f"begins\n{len(photos)}\n", "")


def test_no_more_workers_are_started_than_there_are_chunks(photos: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(function: object, chunks: list[list[Path]], n_workers: int) -> list[list[Path]]:
        asked.append(n_workers)
        return [list(map(Path, chunk)) for chunk in chunks]

    extractor_config = ExtractorConfig("deep")
    described = extract(
        photos[:3], extractor_config, n_regions=8, n_workers=8
    )  # so few photos are extracted by the process itself
    monkeypatch.setattr(extraction, "map_in_workers", note)
    extract(photos, extractor_config, n_regions=8, n_workers=8)
    assert asked == [2]  # six photos are left, four of which make a chunk
    assert extract(photos[:3], extractor_config, n_regions=8, n_workers=8).entries == described.entries
    assert asked == [2]


@pytest.mark.slow
def test_workers_give_the_same_bytes_as_one_process(
    photos: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_workers = extract(photos, ExtractorConfig("deep"), n_regions=8, n_workers=2).entries
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "another"))
    by_itself = extract(photos, ExtractorConfig("deep"), n_regions=8, n_workers=1).entries
    assert [place.read_bytes() for place in by_workers] == [place.read_bytes() for place in by_itself]
