"""Built-in networks: graphs that are built once, cached and checked."""

import errno
import os
import subprocess
import sys

import pytest
from tests.flips import flip_bits

from tagsight.errors import InputError
from tagsight.features import efficientnet as module
from tagsight.features.efficientnet import cache_builtin, open_builtin
from tagsight.storage.files import locate_cache


def test_the_graph_is_built_once_and_rebuilt_when_its_code_or_weights_change(tmp_path, monkeypatch):
    builds = []
    monkeypatch.setattr(module, "_build_builtin", lambda name: builds.append(name) or b"graph")
    first = cache_builtin("lite2", tmp_path)
    assert cache_builtin("lite2", tmp_path) == first
    assert builds == ["lite2"]
    read = module.read_bytes
    monkeypatch.setattr(
        module, "read_bytes", lambda path: read(path) + (b" " if path.name == "efficientnet.py" else b"")
    )
    assert cache_builtin("lite2", tmp_path) != first
    assert builds == ["lite2"] * 2
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".onnx", ".onnx"]


def test_built_in_networks_do_not_share_a_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_build_builtin", lambda name: name.encode())
    for _ in range(2):
        assert [cache_builtin(name, tmp_path).read_bytes() for name in ("lite0", "lite2")] == [b"lite0", b"lite2"]


def test_the_small_network_has_maps_and_a_fingerprint_of_its_own(cache, backbone, photo):
    small = open_builtin("lite0", size=96, folder=cache)
    assert [m.values.shape for m in small.maps(photo)] == [(4, 6, 112), (2, 3, 320), (2, 3, 1280)]
    assert small.fingerprint != backbone.fingerprint


def test_a_damaged_graph_is_built_again(tmp_path):
    opened = open_builtin("lite2", size=96, folder=tmp_path)
    whole = opened.path.read_bytes()
    for damaged in (*flip_bits(whole, 3), whole[: len(whole) // 2], b"", b"something else"):
        opened.path.write_bytes(damaged)
        assert open_builtin("lite2", size=96, folder=tmp_path).fingerprint == opened.fingerprint
        assert opened.path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [opened.path]


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_build_builtin", lambda _: b"graph")

    def fail(*_):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="disk full; free some space or point TAGSIGHT_CACHE elsewhere"):
        cache_builtin("lite2", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TAGSIGHT_CACHE", raising=False)
    assert locate_cache() == tmp_path / "tagsight"
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "own"))
    assert locate_cache() == tmp_path / "own"


def test_a_built_in_network_is_made_and_opened_without_onnx_or_torch(tmp_path):
    code = (
        "import sys; from pathlib import Path; from tagsight.features.efficientnet import open_builtin;"
        f"open_builtin('lite2', folder=Path({str(tmp_path)!r})); assert not {{'onnx', 'torch'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
