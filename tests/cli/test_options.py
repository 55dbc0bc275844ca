"""The default and the help of an option are written once; the command line, the API and the estimator agree."""

import ast
import inspect
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from tagsight import IndexOptions, StackedIBP, TrainOptions
from tagsight.api import Model, train
from tagsight.cli import index as index_command
from tagsight.cli import train as train_command
from tagsight.cli.app import load_command
from tagsight.cli.options import HELP, read_help
from tagsight.data.readers import open_collection
from tagsight.engine.devices import DEVICES, ENGINES, ComputeTarget
from tagsight.features.extractor import FAMILIES
from tagsight.model.settings import DEFAULTS, NOISES
from tagsight.model.start import STARTS
from tagsight.training.options import ATTRIBUTES_OF, PRESET_OPTIONS, TRAIN_PRESETS

DOCUMENTED = (StackedIBP, TrainOptions, IndexOptions, open_collection, train, Model.index, Model.update_index)
OTHER_MEANING = {"device", "engine"}  # of `StackedIBP`: for `fit` alone
ARGUMENTS = {"photos", "folder", "progress"}  # of functions, and no options
ONLY_COMMAND = {"collection", "paths", "output", "json", "help", "backbone"}


def list_defaults(path: Path, name: str) -> dict[str, ast.expr]:
    """The expressions of the defaults of a function's parameters or a class's fields."""
    tree = ast.parse(path.read_text())
    (node,) = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == name]
    if isinstance(node, ast.ClassDef):
        return {str(one.target.id): one.value for one in node.body if isinstance(one, ast.AnnAssign) and one.value}  # pyright: ignore[reportAttributeAccessIssue]
    plain, named = node.args.args, node.args.kwonlyargs
    defaults = node.args.defaults
    found = dict(zip([one.arg for one in plain[len(plain) - len(defaults) :]], defaults, strict=True))
    return found | {one.arg: value for one, value in zip(named, node.args.kw_defaults, strict=True) if value}


@pytest.fixture
def written(repository: Path) -> list[dict[str, ast.expr]]:
    package = repository / "src/tagsight"
    return [
        list_defaults(package / file, name)
        for file, name in (
            ("model/settings.py", "Settings"),
            ("engine/devices.py", "ComputeTarget"),
            ("estimator.py", "__init__"),
            ("training/options.py", "TrainOptions"),
            ("api.py", "IndexOptions"),
            ("cli/train.py", "run"),
            ("cli/index.py", "run"),
        )
    ]


def test_no_default_is_written_twice(written: list[dict[str, ast.expr]]) -> None:
    """None alone may be, for options whose absence means the same everywhere."""
    literal = Counter(
        name
        for defaults in written
        for name, value in defaults.items()
        if isinstance(value, ast.Constant) and value.value is not None
    )
    assert literal["coupling"] == literal["engine"] == literal["features"] == 1
    assert {name for name, times in literal.items() if times > 1} - {"json"} == set()


def test_the_defaults_of_an_option_are_equal_everywhere() -> None:
    settings = DEFAULTS._asdict() | {"n_free": DEFAULTS.factors.free} | ComputeTarget()._asdict()
    record = {one.name: one.default for one in fields(TrainOptions)}
    indexing = {one.name: one.default for one in fields(IndexOptions)}
    estimator = StackedIBP().get_params()
    commands = [
        {name: one.default for name, one in inspect.signature(command).parameters.items()}
        for command in (train_command.run, index_command.run)
    ]
    for place in (settings, indexing, estimator, *commands):
        for name in (place.keys() & record.keys()) - (PRESET_OPTIONS if place in commands else set()):
            assert place[name] == record[name], name
    for name in settings.keys() & estimator.keys():
        assert settings[name] == estimator[name], name
    assert settings.keys() & record.keys() >= {"coupling", "noise", "n_free", "device"}


def test_options_of_presets_are_not_given_unless_the_user_gives_them() -> None:
    given = {name: one.default for name, one in inspect.signature(train_command.run).parameters.items()}
    assert {given[name] for name in PRESET_OPTIONS} == {None}


def test_every_option_is_described_once() -> None:
    described = [(name, text) for one in DOCUMENTED for name, text in read_help(one).items() if name not in ARGUMENTS]
    for value, times in Counter(name for name, _ in described).items():
        assert times == 1 or value in OTHER_MEANING, value
    for value, times in Counter(text for _, text in described).items():
        assert times == 1, value
    documented = {name for name, _ in described}
    assert {one.name for record in (TrainOptions, IndexOptions) for one in fields(record)} <= documented


@pytest.mark.parametrize("command", ["train", "index", "inspect"])
def test_the_help_of_an_option_is_that_of_the_api(command: str) -> None:
    for option in load_command(command).params:
        name = "n_workers" if option.name == "workers" else str(option.name)
        if name not in ONLY_COMMAND:
            assert getattr(option, "help", None) == HELP[name]


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("preset", TRAIN_PRESETS),
        ("features", FAMILIES),
        ("noise", NOISES),
        ("start", STARTS),
        ("attributes_of", ATTRIBUTES_OF),
        ("device", DEVICES),
        ("engine", ENGINES),
    ],
)
def test_the_help_lists_every_choice(name: str, choices: list[str]) -> None:
    words = HELP[name].replace("'", " ").replace(",", " ").replace(".", " ").replace(":", " ").split()
    assert set(choices) <= set(words)
