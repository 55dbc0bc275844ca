"""The manifest: every damage is detected, and inconsistent values are refused."""

from pathlib import Path
from typing import Any

import pytest

from tagsight.errors import InputError
from tagsight.index.manifest import Manifest, read_manifest, write_manifest
from tests.flips import flip_bits

from .made import NO_PARTS, draw_posteriors, put_posteriors


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return put_posteriors(tmp_path, draw_posteriors(0, 7))


def test_every_changed_bit_of_a_manifest_is_detected(tmp_path: Path, manifest: Manifest) -> None:
    path = tmp_path / "manifest.json"
    whole = path.read_bytes()
    for content in (*flip_bits(whole, 300), whole[:-1], b"", b"[" * 100_000):
        path.write_bytes(content)
        try:
            assert read_manifest(tmp_path) == manifest
        except InputError as problem:
            assert "\n" not in str(problem)  # noqa: PT017


@pytest.mark.parametrize(
    "wrong",
    [
        {"generation": "1"}, {"generation": -1}, {"model": "../../etc"}, {"root": 3}, {"objects": [3]}, {"objects": 3},
        {"n_free": 10**9}, {"next_photo": None}, {"parts": [3]}, {"parts": [{}]}, {"parts": 3},
        {"parts": [{"name": "../../../../etc", "photos": 1, "removed": []}]},
        {"parts": [{"name": "0" * 16, "photos": 1, "removed": [2, 1, 0], "file": [1, "0" * 64]}]},
        {"parts": [{"name": "0" * 16, "photos": 1, "removed": []}]},
        {"parts": [{"name": "0" * 16, "photos": 1, "removed": [], "file": [1]}]},
    ],
)  # fmt: skip
def test_a_manifest_that_does_not_fit_is_refused(
    tmp_path: Path, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Manifest, "_asdict", lambda self: {**dict(zip(self._fields, self, strict=True)), **wrong})
    monkeypatch.setattr("tagsight.index.manifest._list_parts", lambda manifest: wrong.get("parts", []))
    write_manifest(tmp_path, NO_PARTS)
    with pytest.raises(InputError, match=r"manifest\.json' is damaged"):
        read_manifest(tmp_path)
