"""tagsight index, find and name on a rendered collection."""

import json
import os
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tagsight.classifiers.calibration import Calibration
from tagsight.errors import InputError
from tagsight.features.extract import extract
from tagsight.index import build, build_index, list_source, open_index, parts
from tagsight.index.build import join_factors
from tagsight.index.manifest import KIND
from tagsight.predict.model_file import load_model, save_model
from tagsight.predict.predictor import predict_photos
from tagsight.predict.regions import paint_objects
from tagsight.predict.segment import label_regions, segment_objects
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import claim_folder

from .conftest import Trained, call
from .test_errors import fail


@pytest.fixture(scope="module")
def index(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "photos.index"
    result = call("index", trained.model, trained.photos / "train", "-o", folder, "--workers", 1, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout.splitlines()[-1])["left_out"] == 0
    return folder


@pytest.fixture
def photos(trained: Trained, tmp_path: Path) -> Path:
    """A plain folder of six photos, without tags."""
    folder = tmp_path / "plain"
    folder.mkdir()
    for source in sorted((trained.photos / "train").glob("*.jpg"))[:6]:
        shutil.copy2(source, folder)
    return folder


def find(*arguments: object) -> list[dict[str, Any]]:
    result = call("find", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def update(trained: Trained, photos: Path, folder: Path) -> build.BuildResult:
    return build_index(load_model(trained.model), list_source(photos), folder, n_workers=1)


def content(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything that an index stores of each photo, by path."""
    index = open_index(folder)
    found: dict[str, tuple[object, ...]] = {}
    for hit in index.find("free-1", top=None):
        probabilities, boxes = index.regions(hit.photo)
        found[hit.path] = (hit.size, probabilities.tobytes(), boxes.tobytes(), index.labels(hit.photo).tobytes())
    return found


def test_scores_of_hits_are_those_of_the_model(trained: Trained, index: Path) -> None:
    model = load_model(trained.model)
    paths = sorted((trained.photos / "train").glob("*.jpg"))
    photos = list(extract(paths, model.extractor_config, n_regions=model.n_regions, n_workers=1).load())
    posteriors = [join_factors(one) for one in predict_photos(model.predictor, photos)]
    opened = open_index(index)
    assert opened.manifest.factor_names == model.factor_names
    for words in (["bird", "red"], ["car", "striped"], ["red", "tall", "tree"], ["free-1", "green"]):
        columns = [model.factor_names.index(word) for word in words]
        exact = {path.name: one[:, columns].prod(axis=1).max() for path, one in zip(paths, posteriors, strict=True)}
        hits = opened.find(" ".join(words), top=None)
        assert len(hits) == len(paths)
        scores = [exact[hit.path] for hit in hits]
        assert [hit.score for hit in hits] == pytest.approx(scores, abs=1e-3)
        assert all(low <= high + 1e-3 for high, low in pairwise(scores))
    for hit in opened.find("bird", top=3):
        number = [path.name for path in paths].index(hit.path)
        assert np.array_equal(opened.labels(hit.photo), photos[number].labels)
        region = hit.matches[0].region
        assert posteriors[number][region, model.factor_names.index("bird")] == pytest.approx(hit.score, abs=1e-3)


def test_photos_rank_by_calibrated_probability_and_masks_are_those_of_segment(
    trained: Trained, photos: Path, tmp_path: Path
) -> None:
    model = load_model(trained.model)
    calibration = model.predictor.calibration._replace(objects=Calibration(0.3, -4.0, None, 0.2))
    predictor = model.predictor._replace(calibration=calibration)
    timid = model._replace(predictor=predictor)
    save_model(timid, tmp_path / "timid.model")
    build_index(load_model(tmp_path / "timid.model"), list_source(photos), tmp_path / "timid.index", n_workers=1)
    opened = open_index(tmp_path / "timid.index")
    paths = sorted(photos.iterdir())
    described = list(extract(paths, timid.extractor_config, n_regions=timid.n_regions, n_workers=1).load())
    predicted = zip(paths, described, predict_photos(timid.predictor, described), strict=True)
    by_name = {path.name: (photo, posterior) for path, photo, posterior in predicted}
    differing = 0
    for column, word in enumerate(timid.vocabulary.objects):
        for hit in opened.find(word, top=None):
            photo, posterior = by_name[hit.path]
            assert hit.score == pytest.approx(posterior.photo[column], abs=1e-5)
            stored = opened.load_photo(hit.photo).regions
            for threshold in (0.0, 0.6):
                mask = segment_objects(photo, posterior, threshold=threshold)
                np.testing.assert_array_equal(paint_objects(stored, threshold=threshold), mask)
            differing += np.any(label_regions(posterior.presence_by_region) != label_regions(posterior.objects))
    assert differing, "what is found and what a region shows are not the same"


def test_find_prints_hits_and_writes_a_page(index: Path, tmp_path: Path) -> None:
    result = call("find", index, "red birds, cars -tall", "--top", 3)
    assert result.exit_code == 0, result.output
    assert all("red bird" in line and "; car " in line for line in result.stdout.splitlines())
    result = call("find", index, "red bird", "--top", 2, "-o", tmp_path / "page.html")
    assert result.stdout == ""
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/jpeg") == 2
    assert "red bird" in page
    assert find(index, "bird", "--threshold", 1) == [hit for hit in find(index, "bird") if hit["score"] == 1.0]


def test_like_accepts_photos_inside_and_outside_the_index(trained: Trained, index: Path) -> None:
    inside = sorted((trained.photos / "train").glob("*.jpg"))[2]
    outside = sorted((trained.photos / "test").glob("*.jpg"))[0]
    assert inside.name not in [hit["path"] for hit in find(index, "--like", inside)]
    (near,) = find(index, "--like", f"{inside}:100,90", "--top", 1)
    assert len(near["matches"]) == 1
    for place in (outside, f"{outside}:10,10"):
        assert len(find(index, "--like", place, "--top", 4)) == 4
    copy = outside.parent / "copied.jpg"
    try:
        shutil.copy(inside, copy)
        best = find(index, "--like", copy, "--top", 1)[0]
        assert best["path"] == inside.name
        assert best["score"] == pytest.approx(1.0)
    finally:
        copy.unlink()


def test_only_changed_photos_are_annotated(
    trained: Trained, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotated: list[int] = []
    monkeypatch.setattr(
        build, "predict_photos", lambda model, batch: annotated.append(len(batch)) or predict_photos(model, batch)
    )
    folder = tmp_path / "i"
    assert update(trained, photos, folder) == (6, 6, 0, 0, (), ())
    assert update(trained, photos, folder) == (6, 0, 0, 0, (), ())
    assert open_index(folder).manifest.generation == 1
    names = sorted(path.name for path in photos.iterdir())
    (photos / names[0]).unlink()
    shutil.copyfile(photos / names[1], photos / names[2])
    shutil.copyfile(photos / names[1], photos / "new.jpg")
    assert update(trained, photos, folder) == (6, 1, 1, 1, (), ())
    assert annotated == [6, 2]
    stored = content(folder)
    assert sorted(stored) == sorted(path.name for path in photos.iterdir())
    assert stored["new.jpg"] == stored[names[1]] == stored[names[2]]
    update(trained, photos, tmp_path / "afresh")
    assert content(tmp_path / "afresh") == stored


def test_an_interrupted_build_is_continued(
    trained: Trained, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(trained, photos, tmp_path / "undisturbed")
    monkeypatch.setattr(build, "CHUNK", 2)
    annotated: list[int] = []

    def predict(model, batch):
        annotated.append(len(batch))
        if len(annotated) == 3:
            raise KeyboardInterrupt
        return predict_photos(model, batch)

    monkeypatch.setattr(build, "predict_photos", predict)
    with pytest.raises(KeyboardInterrupt):
        update(trained, photos, tmp_path / "i")
    assert not (tmp_path / "i/manifest.json").exists()
    assert update(trained, photos, tmp_path / "i").n_photos == 6
    assert annotated == [2, 2, 2, 2]
    assert content(tmp_path / "i") == content(tmp_path / "undisturbed")
    assert not (tmp_path / "i/pending.json").exists()


def test_photos_that_cannot_be_indexed_are_reported(trained: Trained, photos: Path, tmp_path: Path) -> None:
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (photos / "empty.png").touch()
    os.mkfifo(photos / "pipe.jpg")
    odd = ['<b>&".jpg', "new\nline.jpg", "[x]*?.jpg", "';--.jpg"]
    for name in odd:
        Image.new("RGB", (40, 30), (200, 30, 30)).save(photos / name, "JPEG")
    result = call("index", trained.model, photos, "-o", tmp_path / "i", "--workers", 1, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout.splitlines()[-1])
    assert (facts["photos"], facts["left_out"]) == (10, 3)
    assert set(odd) < {hit["path"] for hit in find(tmp_path / "i", "bird", "--top", 99)}
    assert call("find", tmp_path / "i", "bird", "--top", 99, "-o", tmp_path / "p.html").exit_code == 0
    page = (tmp_path / "p.html").read_text()
    assert "&lt;b&gt;&amp;&#34;.jpg" in page
    assert "<b>" not in page
    lines = call("find", tmp_path / "i", "bird", "--top", 99).stdout.splitlines()
    assert len(lines) == 10


def test_linked_photos_are_indexed_and_links_that_lead_outside_reported(
    trained: Trained, photos: Path, tmp_path: Path
) -> None:
    first, second, *others = sorted(photos.iterdir())
    first.rename(tmp_path / "outside.jpg")
    first.symlink_to(tmp_path / "outside.jpg")
    (photos / "again.jpg").symlink_to(tmp_path / "outside.jpg")
    (photos / "inside.jpg").symlink_to(second)
    result = call("index", trained.model, photos, "-o", tmp_path / "i", "--workers", 1, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["photos"], facts["left_out"]) == (len(others) + 4, 0)
    (message,) = (line for line in result.stderr.splitlines() if "links" in line)
    assert (
        message
        == f"tagsight: warning: photos that are links and lead outside {str(photos)!r}: 2; they are indexed and served"
    )


def test_a_photo_that_becomes_unreadable_is_removed_from_the_index(
    trained: Trained, photos: Path, tmp_path: Path
) -> None:
    update(trained, photos, tmp_path / "i")
    broken = min(photos.iterdir())
    broken.write_bytes(b"no photo")
    built = update(trained, photos, tmp_path / "i")
    assert built[:4] == (5, 0, 0, 1)
    assert [problem.path.name for problem in built.problems] == [broken.name]


def test_another_model_replaces_the_index(trained: Trained, photos: Path, tmp_path: Path) -> None:
    update(trained, photos, tmp_path / "i")
    other = load_model(trained.model)
    save_model(other._replace(training=other.training._replace(seed=99)), tmp_path / "other.model")
    built = build_index(load_model(tmp_path / "other.model"), list_source(photos), tmp_path / "i", n_workers=1)
    assert built[:4] == (6, 6, 0, 0)
    assert open_index(tmp_path / "i").model.training.seed == 99
    assert len(find(tmp_path / "i", "bird")) == 6
    assert len(list((tmp_path / "i/models").iterdir())) == 2  # kept for readers of the previous generation


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "cut short":
        path.write_bytes(path.read_bytes()[:-10])
    else:
        changed = bytearray(path.read_bytes())
        changed[len(changed) // 2] ^= 4
        path.write_bytes(changed)


@pytest.mark.parametrize("how", ["missing", "cut short", "flipped"])
def test_the_photos_of_a_damaged_part_are_annotated_again(
    trained: Trained, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(parts, "GROWTH", 0.01)  # no part is merged
    monkeypatch.setattr(build, "CHUNK", 4)
    folder = tmp_path / "i"
    update(trained, photos, folder)
    before = content(folder)
    small = min(open_index(folder).manifest.parts, key=lambda part: part.n_photos)
    damage(folder / f"parts/{small.name}.safetensors", how)
    built = update(trained, photos, folder)
    assert built[:4] == (6, 2, 0, 0)
    (message,) = built.repairs
    assert f"'{small.name}.safetensors'" in message
    assert message.endswith("so 2 photos are annotated again")
    assert content(folder) == before
    assert update(trained, photos, folder) == (6, 0, 0, 0, (), ())


@pytest.mark.parametrize("how", ["cut short", "flipped", "empty"])
def test_a_damaged_manifest_is_repaired_by_the_advice(trained: Trained, photos: Path, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "i"
    update(trained, photos, folder)
    call("name", folder, "free-2", "wavy")
    before = content(folder)
    if how == "empty":
        (folder / "manifest.json").write_bytes(b"")
    else:
        damage(folder / "manifest.json", how)
    refused = fail("find", folder, "bird")
    assert "manifest.json' is damaged" in refused
    assert "run 'tagsight index' again with the same model, photos and index" in refused
    result = call("index", trained.model, photos, "-o", folder, "--workers", 1)
    assert result.exit_code == 0, result.output
    assert "manifest.json' is damaged, so all photos are annotated again" in result.stderr
    assert content(folder) == before
    assert len(list((folder / "parts").iterdir())) == 1
    assert len(find(folder, "wavy")) == 6


def test_a_damaged_pending_manifest_is_ignored(
    trained: Trained, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "CHUNK", 2)
    with monkeypatch.context() as stopped:
        stopped.setattr(build._Build, "_commit", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            update(trained, photos, tmp_path / "i")
    damage(tmp_path / "i/pending.json", "flipped")
    built = update(trained, photos, tmp_path / "i")
    assert built.n_photos == 6
    assert ["pending.json' is damaged, so a stopped build begins again" in text for text in built.repairs] == [True]
    assert not (tmp_path / "i/pending.json").exists()


def test_a_damaged_copy_of_the_model_is_replaced(trained: Trained, photos: Path, tmp_path: Path) -> None:
    update(trained, photos, tmp_path / "i")
    (copy,) = (tmp_path / "i/models").iterdir()
    damage(copy, "flipped")
    update(trained, photos, tmp_path / "i")
    assert copy.read_bytes() == trained.model.read_bytes()


def test_an_index_of_an_older_schema_is_refused_and_built_again_by_the_advice(
    trained: Trained, photos: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "i"
    update(trained, photos, folder)
    before = content(folder)
    old = json.loads((folder / "manifest.json").read_text())
    del old["sha256"], old["parts"][0]["file"]
    (folder / "manifest.json").write_text(json.dumps({**old, "schema": 2}))
    (folder / "parts" / f"regions-{'0' * 16}.parquet").write_bytes(b"of an older tagsight")
    refused = fail("find", folder, "bird")
    assert "has schema 2 and this tagsight reads 4; build the index again with 'tagsight index'" in refused
    built = update(trained, photos, folder)
    assert built[:4] == (6, 6, 0, 0)
    (message,) = built.repairs
    assert message.endswith("so all photos are annotated again")
    assert content(folder) == before
    assert [path.suffix for path in (folder / "parts").iterdir()] == [".safetensors"]


def test_a_discovered_factor_is_named(trained: Trained, photos: Path, tmp_path: Path) -> None:
    update(trained, photos, tmp_path / "i")
    before = trained.model.read_bytes()
    assert call("name", tmp_path / "i", "free-2", "Wavy").stdout == "free-2 is now 'wavy'\n"
    assert [hit["path"] for hit in find(tmp_path / "i", "wavy")] == [
        hit["path"] for hit in find(tmp_path / "i", "free-2")
    ]
    assert trained.model.read_bytes() == before
    (photos / sorted(os.listdir(photos))[0]).unlink()
    update(trained, photos, tmp_path / "i")
    assert len(find(tmp_path / "i", "wavy")) == 5


def test_a_second_builder_is_refused(trained: Trained, photos: Path, tmp_path: Path) -> None:
    claim_folder(tmp_path / "i", KIND)
    with hold_lock(tmp_path / "i/build.lock", wait=False):
        assert "another process is building" in fail("index", trained.model, photos, "-o", tmp_path / "i")
    assert not (tmp_path / "i/manifest.json").exists()


def test_errors_are_one_sentence(trained: Trained, index: Path, tmp_path: Path) -> None:
    assert "nearest in spelling are bird" in fail("find", index, "brid")
    train, output = trained.photos / "train", tmp_path / "i"
    for message, arguments in (
        ("either a query or --like", ("find", index)),
        ("'tagsight index'", ("find", tmp_path, "bird")),
        ("free-1 to free-3", ("name", index, "free-9", "x")),
        ("no photo", ("index", trained.model, tmp_path, "-o", output)),
        ("does not exist", ("index", trained.model, tmp_path / "absent", "-o", output)),
        ("no model file", ("index", tmp_path / "absent", train, "-o", output)),
        ("cannot be read as a photo", ("find", index, "--like", tmp_path / "absent.jpg")),
    ):
        result = call(*arguments)
        assert isinstance(result.exception, InputError)
        assert message in str(result.exception)
        assert "\n" not in str(result.exception)
    assert not (output / "manifest.json").exists()


def test_finding_loads_neither_model_nor_network(index: Path) -> None:
    code = (
        "import sys; from tagsight.index import open_index; open_index(sys.argv[1]).find('bird');"
        "heavy = ('numba', 'onnxruntime', 'sklearn', 'higra', 'tagsight.model');"
        "print([name for name in heavy if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(index)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_photo_with_a_new_time_is_annotated_again(trained: Trained, photos: Path, tmp_path: Path) -> None:
    update(trained, photos, tmp_path / "i")
    later = time.time() + 10
    os.utime(min(photos.iterdir()), (later, later))
    assert update(trained, photos, tmp_path / "i")[:4] == (6, 0, 1, 0)
