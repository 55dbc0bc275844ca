"""The options of a training: one record, its presets, and values that are refused."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from tagsight.errors import InputError
from tagsight.training.options import TRAIN_PRESETS, TrainOptions, check_options


def test_defaults_are_accepted() -> None:
    check_options(TrainOptions())


def test_options_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        TrainOptions().seed = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", TRAIN_PRESETS)
def test_a_preset_sets_the_fields_and_leaves_out_the_classifiers(name: str) -> None:
    options = TrainOptions.from_preset(name)
    assert options == replace(TrainOptions(), **TRAIN_PRESETS[name], classifiers=False)
    check_options(options)


def test_changes_override_the_preset() -> None:
    assert TrainOptions.from_preset("ws-mrf-sibp", coupling=3.0, seed=5).coupling == 3.0


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="preset must be one of ws-sibp, additive, ws-mrf-sibp, got 'lda'"):
        TrainOptions.from_preset("lda")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_free": -1}, "the number of free factors must lie between"),
        ({"n_regions": 0}, "the number of regions must lie between"),
        ({"coupling": float("nan")}, "coupling must lie between"),
        ({"seed": 2**40}, "seed must lie between"),
        ({"noise": "loud"}, "noise must be one of"),
        ({"start": "nowhere"}, "start must be one of"),
        ({"attribute_shrinkage": 1.0}, "attribute_shrinkage is given without shrinkage"),
        ({"photo_effect": 0.5}, "photo_effect 0.5 needs a model without region classifiers"),
        ({"smoothing": 0.5}, "smoothing 0.5 needs a model without region classifiers"),
        ({"smoothing": 1.0, "classifiers": False}, "smoothing must lie between 0 and 0.999"),
        ({"attribute_prior": "some"}, "attribute_prior must be one of learned, tags, equal"),
        ({"memory": 10**9, "device": "cuda"}, "memory limits device 'cpu'"),
        ({"memory": 10**9, "engine": "ray"}, "memory limits this machine"),
        ({"n_workers": 0}, "the number of workers must lie between"),
    ],
)
def test_wrong_values_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_options(TrainOptions(**changes))
