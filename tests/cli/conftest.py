"""A small rendered collection and a model trained on it through the command line."""

import os
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

from tagsight.cli.app import make_app
from tagsight.cli.console import print_warnings
from tagsight.demo import render_collection


class Trained(NamedTuple):
    """The inputs of the commands."""

    photos: Path
    model: Path


def call(*arguments: object) -> Result:
    """Run a command in this process; warnings are printed as by the command line."""
    with warnings.catch_warnings():
        print_warnings()
        return CliRunner().invoke(make_app(), [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def cache(own_cache: None) -> Path:
    """The cache of this run."""
    return Path(os.environ["TAGSIGHT_CACHE"])


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Trained:
    folder = tmp_path_factory.mktemp("cli")
    render_collection(folder / "photos", n_photos=24, seed=3)
    result = call("train", folder / "photos/train", "-o", folder / "a.model", "--free", 3, "--regions", 30, "--json")
    assert result.exit_code == 0, result.output
    return Trained(folder / "photos", folder / "a.model")
