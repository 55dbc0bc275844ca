"""The examples in the docstrings of the Python API run on a small collection."""

import doctest
from pathlib import Path
from typing import Any

import pytest

import tagsight
from tagsight import api

FASTER: dict[str, Any] = {"n_free": 2, "n_regions": 30, "n_workers": 1}
DOCUMENTED = [one for module in (tagsight, api) for one in doctest.DocTestFinder().find(module) if one.examples]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tagsight.TagsightWarning")  # the collection is small
def test_the_examples_run(example_photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example_photos)
    make_options = api.make_options
    monkeypatch.setattr(api, "make_options", lambda preset, **given: make_options(preset, **FASTER | given))
    (example_photos / "b.jpg").write_bytes((example_photos / "a.jpg").read_bytes())
    tagsight.train("photos/", progress=False).save("my.model")
    assert len(DOCUMENTED) >= 10
    for documented in DOCUMENTED:
        names = {"tagsight": tagsight, "model": tagsight.load("my.model")}
        for example in documented.examples:
            exec(compile(example.source, documented.name, "single"), names)
    assert Path("outlined.png").is_file()
    assert Path("out/instances_masks.json").is_file()
