"""kill -9 during a build, an update or the naming of a factor: the index opens, and a rerun completes it.

One process imports everything, then forks a child for each try; the child kills itself just before the n-th file is
renamed or removed, which are the only moments at which the disk changes.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Trained

SCRIPT = r"""
import json, os, shutil, signal, sys
from pathlib import Path
from types import SimpleNamespace
from tagsight.features import extract
from tagsight.index import build_index, list_source, name_factor, open_index
from tagsight.index import build
from tagsight.index.manifest import read_manifest
from tagsight.index.names import read_names
from tagsight.predict.model_file import load_model

model, photos, folder, base = map(Path, sys.argv[1:])
build.CHUNK = 2


def in_child(work, fatal=None):
    # What the child returns and how many moments it passed; None if it was killed.
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        passed = 0
        for name in ("replace", "unlink"):
            def act(self, *rest, whole=getattr(Path, name), **options):
                nonlocal passed
                if passed == fatal:
                    os.kill(os.getpid(), signal.SIGKILL)
                passed += 1
                return whole(self, *rest, **options)
            setattr(Path, name, act)
        answer = work()
        with os.fdopen(writing, "wb") as answers:
            answers.write(json.dumps([answer, passed]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        content = answers.read()
    _, status = os.waitpid(child, 0)
    assert content or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL), status
    return json.loads(content) if content else None


def update():
    # The number of photos that were annotated.
    annotated = 0
    predict_photos = build.predict_photos

    def count_photos(model, batch):
        nonlocal annotated
        annotated += len(batch)
        return predict_photos(model, batch)

    build.predict_photos = count_photos
    build_index(load_model(model), list_source(photos), folder, n_workers=1)
    return annotated


def stored():
    # All that readers see; None before there is an index.
    if not (folder / "manifest.json").exists():
        return None
    index = open_index(folder)
    rows = {}
    for hit in index.find("free-1", top=None):
        values, boxes = index.regions(hit.photo)
        rows[hit.path] = [values.tolist(), boxes.tolist(), int(index.labels(hit.photo).sum())]
    return rows


def staged(start):
    # Photos that the killed build had done since `start`.
    if not (folder / "pending.json").exists():
        return 0
    return read_manifest(folder, "pending.json").next_photo - start


def start_over():
    shutil.rmtree(folder, ignore_errors=True)
    if base.exists():
        shutil.copytree(base, folder)


def kill_at_every_moment():
    start_over()
    start = read_manifest(folder).next_photo if folder.exists() else 0
    (before, _) = in_child(stored)
    todo, moments = in_child(update)
    (after, _) = in_child(stored)
    assert after != before
    for moment in range(moments):
        start_over()
        assert in_child(update, fatal=moment) is None
        (now, _) = in_child(stored)
        assert now in (before, after), "a mixture"
        done = todo if now == after else staged(start)
        (annotated, _) = in_child(update)
        assert annotated == todo - done, "reported done, and lost"
        assert in_child(stored)[0] == after
        assert not (folder / "pending.json").exists()
        assert not list((folder / "parts").glob(".partial-*"))
    return moments


# Every photo was described when the model was trained: the network itself is not needed, and takes long to open.
trained = load_model(model)
(fingerprint, _) = in_child(lambda: extract.open_extractor(trained.extractor_config).fingerprint)
extract.open_extractor = lambda recipe: SimpleNamespace(fingerprint=fingerprint)
build.load_model = lambda path: trained
first = sorted(photos.iterdir())[:1]
known = extract.extract(first, trained.extractor_config, n_regions=trained.n_regions, n_workers=1)
build.predict_photos(trained.predictor, list(known.load()))  # children inherit the compiled kernels

moments = [kill_at_every_moment()]
shutil.copytree(folder, base)
names = sorted(os.listdir(photos))
(photos / names[0]).unlink()
for name, source in ((names[1], names[2]), ("added.jpg", names[3]), ("more.jpg", names[4])):
    (photos / name).write_bytes((photos / source).read_bytes())
moments.append(kill_at_every_moment())

named = {}
for turn in range(5):
    for factor in ("free-1", "free-2"):
        word = f"word{turn}{factor[-1]}"
        for fatal in (0, None):
            survived = in_child(lambda: name_factor(folder, factor, word), fatal=fatal)
            assert bool(survived) == (fatal is None)
            now = read_names(folder, read_manifest(folder))
            assert now == named | ({factor: word} if survived else {}), now
            named = now
assert in_child(lambda: open_index(folder).find("word41 word42", top=1)[0].score)
print(json.dumps([moments, named]))
"""


@pytest.mark.slow
def test_an_index_survives_being_killed(trained: Trained, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for source in sorted((trained.photos / "train").glob("*.jpg"))[:7]:
        shutil.copy2(source, photos)
    command = [sys.executable, "-c", SCRIPT, trained.model, photos, tmp_path / "index", tmp_path / "base"]
    run = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert run.returncode == 0, run.stderr
    moments, names = json.loads(run.stdout)
    assert all(count >= 9 for count in moments)
    assert names == {"free-1": "word41", "free-2": "word42"}
