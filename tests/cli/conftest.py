"""A small rendered collection and a model trained on it through the command line."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

from tagsight.cli.main import make_app
from tagsight.data.synthetic import render_collection


class Trained(NamedTuple):
    """What the commands are tried on."""

    photos: Path
    model: Path


def call(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(make_app(), [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the tests' own, also for the processes they start."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("TAGSIGHT_CACHE")
    os.environ["TAGSIGHT_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["TAGSIGHT_CACHE"]
    else:
        os.environ["TAGSIGHT_CACHE"] = before


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Trained:
    folder = tmp_path_factory.mktemp("cli")
    render_collection(folder / "photos", n_photos=24, seed=3)
    result = call("train", folder / "photos/train", "-o", folder / "a.model", "--free", 3, "--regions", 30, "--json")
    assert result.exit_code == 0, result.output
    return Trained(folder / "photos", folder / "a.model")
