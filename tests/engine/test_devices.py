"""A missing device or engine raises an error of one sentence with the remedy, before any work."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tagsight import StackedIBP
from tagsight.data.collection import Collection, TaggedPhoto
from tagsight.data.vocabulary import Vocabulary
from tagsight.engine import devices
from tagsight.engine.devices import DEVICES, ENGINES, check_device, check_engine
from tagsight.engine.ray import cluster
from tagsight.errors import InputError
from tagsight.training import pipeline as training
from tagsight.training.options import TrainOptions


def test_a_wrong_name_lists_the_right_ones():
    with pytest.raises(InputError, match=f"device must be one of {', '.join(DEVICES)}, got 'tpu'"):
        check_device("tpu")


@pytest.mark.parametrize("device", ["cuda", "cuda-bf16"])
def test_without_torch_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, device: str):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'tagsight\[torch\]'"):
        StackedIBP(1, 0, 1, device=device).fit(np.ones((2, 3)), np.ones((2, 1)))


def test_a_missing_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: object())
    blind = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", blind)
    with pytest.raises(InputError, match="needs an NVIDIA GPU, and PyTorch finds none: choose device 'cpu'"):
        check_device("cuda")


def test_the_cpu_needs_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    check_device("cpu")


def test_training_extracts_features_on_its_device(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def stop(*_: object, device: str, **__: object) -> None:
        asked.append(device)
        raise InputError("far enough")

    monkeypatch.setattr(training, "check_device", lambda name: None)
    monkeypatch.setattr(training, "extract", stop)
    photo = TaggedPhoto(Path("a.jpg"), ("cat",), ())
    collection = Collection("one", Path(), (photo,), Vocabulary(("cat",), ()), ())
    for device in DEVICES:
        with pytest.raises(InputError, match="far enough"):
            training.train(collection, TrainOptions(device=device))
    assert asked == list(DEVICES)


def test_a_wrong_engine_lists_the_right_ones():
    with pytest.raises(InputError, match=f"engine must be one of {', '.join(ENGINES)}, got 'spark'"):
        StackedIBP(1, 0, 1, engine="spark").fit(np.ones((2, 3)), np.ones((2, 1)))


def test_without_ray_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'tagsight\[ray\]'"):
        StackedIBP(1, 0, 1, engine="ray").fit(np.ones((2, 3)), np.ones((2, 1)))


def test_actors_update_all_photos_at_once():
    with pytest.raises(InputError, match="n_batches must be 1, got 2"):
        StackedIBP(1, 0, 1, engine="ray", n_batches=2).fit(np.ones((2, 3)), np.ones((2, 1)))


def test_actors_have_no_gpu():
    with pytest.raises(InputError, match="engine 'ray' runs on CPU cores only: choose device 'cpu' instead of 'cuda'"):
        check_engine("ray", "cuda")
