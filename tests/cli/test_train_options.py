"""Options of the model reach the training, and wrong ones are one sentence."""

from pathlib import Path
from typing import Any

import pytest

from tagsight.cli import train
from tagsight.data.synthetic import render_collection
from tagsight.errors import InputError
from tagsight.training import TrainOptions

from .conftest import call


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), (False, None, None, "isotropic", 0.0, "regions")),
        (("--no-exclusive",), (False, None, None, "isotropic", 0.0, "regions")),
        (("--exclusive",), (True, None, None, "isotropic", 0.0, "regions")),
        (
            ("--exclusive", "--shrinkage", "2", "--attribute-shrinkage", "20"),
            (True, 2.0, 20.0, "isotropic", 0.0, "regions"),
        ),
        (
            ("--preset", "ws-sibp", "--noise", "full", "--photo-effect", "0.5", "--attributes-of", "objects"),
            (False, None, None, "full", 0.5, "objects"),
        ),
    ],
)
def test_they_reach_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    render_collection(tmp_path / "photos", n_photos=4, seed=0)
    given: list[TrainOptions] = []

    def stop(collection: object, options: TrainOptions, *rest: object) -> None:
        given.append(options)
        raise InputError("enough")

    monkeypatch.setattr(train, "train_model", stop)
    call("train", tmp_path / "photos/train", "-o", tmp_path / "a.model", *arguments)
    fit = given[0].fit_options
    found = (fit.exclusive, fit.shrinkage, fit.attribute_shrinkage, fit.noise, fit.photo_effect, fit.attributes_of)
    assert found == expected


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--shrinkage", "-1"), "shrinkage must lie between 1e-06 and 1e"),
        (("--shrinkage", "nan"), "shrinkage must lie between 1e-06 and 1e"),
        (("--attribute-shrinkage", "2"), "attribute_shrinkage needs a shrinkage for the other factors too"),
        (("--noise", "loud"), "noise must be one of isotropic, full"),
        (("--preset", "ws-sibp", "--photo-effect", "1.5"), "photo_effect must lie between 0 and 1"),
        (("--attributes-of", "objects"), "attributes_of objects is for a model without region classifiers"),
        (("--preset", "ws-sibp", "--attributes-of", "photos"), "attributes_of must be one of regions, objects"),
        (("--photo-effect", "0.5"), "photo_effect 0.5 is for a model without region classifiers"),
    ],
)
def test_wrong_ones_are_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    render_collection(tmp_path / "photos", n_photos=4, seed=0)
    result = call("train", tmp_path / "photos/train", "-o", tmp_path / "a.model", *arguments)
    assert isinstance(result.exception, InputError)
    assert says in str(result.exception)
    assert not (tmp_path / "a.model").exists()
