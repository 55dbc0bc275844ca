"""Options of `tagsight train` reach the training, and wrong values are refused in one sentence."""

from dataclasses import fields
from inspect import signature
from pathlib import Path

import pytest

from tagsight.cli.train import run
from tagsight.demo import render_collection
from tagsight.errors import InputError
from tagsight.training.options import TrainOptions

from .conftest import call

PYTHON_ONLY = {"attribute_prior", "classifiers", "learn_affinity", "weights"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", TrainOptions()),
        ("--no-exclusive", TrainOptions()),
        ("--exclusive", TrainOptions(exclusive=True)),
        ("--shrinkage 2 --attribute-shrinkage 20", TrainOptions(shrinkage=2.0, attribute_shrinkage=20.0)),
        ("--coupling 0 --no-centred", TrainOptions(coupling=0.0, centred=False)),
        ("--preset ws-sibp --noise full", TrainOptions.from_preset("ws-sibp", noise="full")),
        ("--preset additive --no-centred", TrainOptions.from_preset("additive", centred=False)),
        ("--preset additive --affinity 3", TrainOptions.from_preset("additive", affinity=3.0)),
        ("--preset ws-mrf-sibp", TrainOptions.from_preset("ws-mrf-sibp")),
        (
            "--preset ws-mrf-sibp --free 4 --start kmeans",
            TrainOptions.from_preset("ws-mrf-sibp", n_free=4, start="kmeans"),
        ),
        (
            "--preset ws-mrf-sibp --no-exclusive --noise isotropic --smoothing 0",
            TrainOptions.from_preset("ws-mrf-sibp", exclusive=False, noise="isotropic", smoothing=0.0),
        ),
        ("--preset ws-sibp --photo-effect 0.5", TrainOptions.from_preset("ws-sibp", photo_effect=0.5)),
        ("--preset ws-sibp --attributes-of objects", TrainOptions.from_preset("ws-sibp", attributes_of="objects")),
        ("--preset ws-sibp --photo-prior 30", TrainOptions.from_preset("ws-sibp", photo_prior=30.0)),
        ("--start activation", TrainOptions(start="activation")),
        ("--features classic --free 3 --regions 9", TrainOptions(features="classic", n_free=3, n_regions=9)),
        ("--seed 4 --workers 2 --memory 2GB", TrainOptions(seed=4, n_workers=2, memory=2_000_000_000)),
    ],
)
def test_options_reach_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, expected: TrainOptions
) -> None:
    render_collection(tmp_path / "photos", n_photos=4, seed=0)
    given: list[TrainOptions] = []

    def stop(collection: object, options: TrainOptions, *rest: object) -> None:
        given.append(options)
        raise InputError("stopped by the test")

    monkeypatch.setattr("tagsight.api.train_collection", stop)
    call("train", tmp_path / "photos/train", "-o", tmp_path / "a.model", *arguments.split())
    assert given == [expected]


def test_every_option_of_a_training_is_on_the_command_line() -> None:
    assert {field.name for field in fields(TrainOptions)} - PYTHON_ONLY <= set(signature(run).parameters)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--shrinkage", "-1"), "shrinkage must lie between 1e-06 and 1e"),
        (("--shrinkage", "nan"), "shrinkage must lie between 1e-06 and 1e"),
        (("--attribute-shrinkage", "2"), "attribute_shrinkage is given without shrinkage: set shrinkage too"),
        (("--noise", "loud"), "noise must be one of isotropic, full"),
        (("--preset", "ws-sibp", "--photo-effect", "1.5"), "photo_effect must lie between 0 and 1"),
        (("--attributes-of", "objects"), "attributes_of objects needs a model without region classifiers"),
        (("--preset", "ws-sibp", "--attributes-of", "photos"), "attributes_of must be one of regions, objects"),
        (("--photo-prior", "30"), "photo_prior 30.0 needs a model without region classifiers"),
        (("--preset", "ws-sibp", "--photo-prior", "-1"), "photo_prior must lie between 0 and"),
        (("--start", "anywhere"), "start must be one of tags, activation, kmeans, random"),
        (("--smoothing", "0.5"), "smoothing 0.5 needs a model without region classifiers"),
        (("--photo-effect", "0.5"), "photo_effect 0.5 needs a model without region classifiers"),
    ],
)
def test_wrong_values_are_refused(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    render_collection(tmp_path / "photos", n_photos=4, seed=0)
    result = call("train", tmp_path / "photos/train", "-o", tmp_path / "a.model", *arguments)
    assert isinstance(result.exception, InputError)
    assert reason in str(result.exception)
    assert not (tmp_path / "a.model").exists()
