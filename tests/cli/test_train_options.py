"""Options of the model reach the training, and wrong ones are one sentence."""

from pathlib import Path
from typing import Any

import pytest

from tagsight.cli import train
from tagsight.demo import render_collection
from tagsight.errors import InputError
from tagsight.training.options import TrainOptions

from .conftest import call

DEFAULTS = {
    "exclusive": False, "shrinkage": None, "attribute_shrinkage": None, "noise": "isotropic", "photo_effect": 0.0,
    "attributes_of": "regions", "photo_prior": None, "start": "tags",
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ("", {}),
        ("--no-exclusive", {}),
        ("--exclusive", {"exclusive": True}),
        ("--shrinkage 2 --attribute-shrinkage 20", {"shrinkage": 2.0, "attribute_shrinkage": 20.0}),
        ("--preset ws-sibp --noise full --photo-effect 0.5", {"noise": "full", "photo_effect": 0.5}),
        ("--preset ws-sibp --attributes-of objects", {"attributes_of": "objects"}),
        ("--preset ws-sibp --photo-prior 30", {"photo_prior": 30.0}),
        ("--start activation", {"start": "activation"}),
    ],
)
def test_they_reach_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, changed: dict[str, Any]
) -> None:
    render_collection(tmp_path / "photos", n_photos=4, seed=0)
    given: list[TrainOptions] = []

    def stop(collection: object, options: TrainOptions, *rest: object) -> None:
        given.append(options)
        raise InputError("enough")

    monkeypatch.setattr(train, "train_model", stop)
    call("train", tmp_path / "photos/train", "-o", tmp_path / "a.model", *arguments.split())
    fit = given[0]
    assert {name: getattr(fit, name) for name in DEFAULTS} == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--shrinkage", "-1"), "shrinkage must lie between 1e-06 and 1e"),
        (("--shrinkage", "nan"), "shrinkage must lie between 1e-06 and 1e"),
        (("--attribute-shrinkage", "2"), "attribute_shrinkage is given without shrinkage for the other factors too"),
        (("--noise", "loud"), "noise must be one of isotropic, full"),
        (("--preset", "ws-sibp", "--photo-effect", "1.5"), "photo_effect must lie between 0 and 1"),
        (("--attributes-of", "objects"), "attributes_of objects needs a model without region classifiers"),
        (("--preset", "ws-sibp", "--attributes-of", "photos"), "attributes_of must be one of regions, objects"),
        (("--photo-prior", "30"), "photo_prior 30.0 needs a model without region classifiers"),
        (("--preset", "ws-sibp", "--photo-prior", "-1"), "photo_prior must lie between 0 and"),
        (("--start", "anywhere"), "start must be one of tags, activation, kmeans, random"),
        (("--photo-effect", "0.5"), "photo_effect 0.5 needs a model without region classifiers"),
    ],
)
def test_wrong_ones_are_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    render_collection(tmp_path / "photos", n_photos=4, seed=0)
    result = call("train", tmp_path / "photos/train", "-o", tmp_path / "a.model", *arguments)
    assert isinstance(result.exception, InputError)
    assert says in str(result.exception)
    assert not (tmp_path / "a.model").exists()
