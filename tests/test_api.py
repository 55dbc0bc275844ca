"""The Python API on a small rendered collection."""

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

import tagsight
from tagsight.api import Model
from tagsight.data.photo import read_photo
from tagsight.demo import render_collection
from tagsight.errors import InputError
from tagsight.predict.segment import refine_objects, segment_objects
from tagsight.runtime.progress import show_progress

# A plain script: no `if __name__ == "__main__"`, although features are extracted in worker processes.
SCRIPT = """
import json, sys, tagsight

photos, folder = sys.argv[1:]
model = tagsight.train(photos + "/train", n_free=2, n_regions=30, n_workers=2, progress=False)
model.save(folder + "/my.model")
annotated = model.annotate(photos + "/test", objects=3, progress=False)
found = [[str(photo.path), [[one.name, one.score] for one in photo.objects]] for photo in annotated]
index = model.index(photos + "/train", folder + "/my.index", progress=False)
print(json.dumps([found, [hit.path for hit in index.find("red bird", top=3)]]))
"""


class Trained(NamedTuple):
    photos: Path
    folder: Path
    annotated: list[tuple[str, list[tuple[str, float]]]]  # by the script
    hits: list[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> Trained:
    folder = tmp_path_factory.mktemp("api")
    render_collection(folder / "photos", n_photos=24, seed=3)
    script = folder / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-W", "ignore", str(script), str(folder / "photos"), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    annotated, hits = json.loads(ended.stdout)
    return Trained(folder / "photos", folder, annotated, hits)


@pytest.fixture(scope="module")
def model(trained: Trained) -> Model:
    return tagsight.load(trained.folder / "my.model")


@pytest.fixture
def photo(trained: Trained) -> Path:
    return sorted((trained.photos / "test").glob("*.jpg"))[0]


def test_a_plain_script_trains_annotates_and_finds(trained: Trained, model: Model) -> None:
    assert [path for path, _ in trained.annotated] == [
        str(one) for one in sorted((trained.photos / "test").glob("*.jpg"))
    ]
    for _, objects in trained.annotated:
        assert len(objects) == 3
        assert {name for name, _ in objects} <= set(model.objects)
        scores = [score for _, score in objects]
        assert scores == sorted(scores, reverse=True)
    assert len(trained.hits) == 3


def test_a_loaded_model_annotates_as_the_trained_one(trained: Trained, model: Model) -> None:
    annotated = model.annotate(str(trained.photos / "test"), objects=3, progress=False)
    found = [[str(photo.path), [[one.name, one.score] for one in photo.objects]] for photo in annotated]
    assert found == trained.annotated


def test_a_path_an_image_and_an_array_give_the_same_objects(model: Model, photo: Path) -> None:
    with Image.open(photo) as image:
        pixels = np.asarray(image)
        given = [str(photo), photo, image, pixels]
        annotated = list(model.annotate(given, progress=False))
        masks = [model.segment(one).labels for one in given]
    assert [one.path for one in annotated] == [photo, photo, None, None]
    assert all(one.objects == annotated[0].objects for one in annotated)
    assert all(np.array_equal(mask, masks[0]) for mask in masks)
    mirrored = model.segment(pixels[:, ::-1]).labels
    assert not np.array_equal(mirrored, masks[0])


def test_photos_predicted_together_are_predicted_as_one_by_one(trained: Trained, model: Model) -> None:
    photos = sorted((trained.photos / "test").glob("*.jpg"))[:3]
    together = model.predict_all(photos)
    assert len(together) == 3
    for path, (features, prediction) in zip(photos, together, strict=True):
        alone = model.predict(path)
        assert np.array_equal(features.features, alone.features.features)
        for one, other in zip(prediction, alone.prediction, strict=True):
            assert np.allclose(one, other, atol=1e-6)
    assert model.predict_all([]) == []


def test_only_the_given_objects_are_predicted(model: Model, photo: Path) -> None:
    first, second, *_ = model.objects
    one, two = model.predict_all([photo, photo], objects=[[first.upper()], [first, second]])
    assert one.prediction.objects[:, 0].max() > 0
    assert not one.prediction.objects[:, 1:].any()
    assert not one.prediction.photo[1:].any()
    assert two.prediction.objects[:, 1].max() > 0
    assert not two.prediction.objects[:, 2:].any()


def test_transductive_prediction_learns_from_the_photos_and_keeps_the_model(trained: Trained, model: Model) -> None:
    photos = trained.photos / "test"
    before = model.predict_all(photos)
    adapted = model.predict_all(photos, transductive=True)
    after = model.predict_all(photos)
    change = [
        np.abs(one.prediction.objects - two.prediction.objects).max() for one, two in zip(before, adapted, strict=True)
    ]
    assert max(change) > 1e-3
    for one, two in zip(before, after, strict=True):
        assert np.array_equal(one.prediction.objects, two.prediction.objects)


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([], "objects are given for 0 photos, but there are 1 photos"),
        ([["no such thing"]], "the model has no object 'no such thing'"),
        ([[]], "photo number 0 may contain no object: allow at least one"),
    ],
)
def test_wrong_restrictions_are_refused(model: Model, photo: Path, objects: list[list[str]], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        model.predict_all(photo, objects=objects)


def test_photos_are_annotated_lazily(model: Model, photo: Path) -> None:
    given: list[Path] = []

    def give() -> Iterator[Path]:
        for path in [photo, photo, photo / "missing.jpg"]:
            given.append(path)
            yield path

    annotated = model.annotate(give(), progress=False)
    assert given == []
    assert next(annotated).objects
    assert given == [photo]


def test_a_broken_photo_is_reported_and_the_others_are_annotated(model: Model, photo: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(photo.read_bytes())
    (tmp_path / "b.jpg").write_bytes(b"not a photo")
    (tmp_path / "c.jpg").write_bytes(photo.read_bytes())
    with pytest.warns(tagsight.LeftOutWarning, match=r"left out '.*b\.jpg': not a file of a known format") as caught:
        first, second, third = model.annotate(tmp_path, progress=False)
    assert caught[0].filename == __file__
    assert first.error is None
    assert first.objects == third.objects != ()
    assert second.objects == ()
    assert second.error is not None
    assert second.error.startswith("not a file of a known format")


def test_labels_of_a_segmentation_are_indices_of_its_names(model: Model, photo: Path) -> None:
    outline = model.segment(photo)
    with Image.open(photo) as image:
        assert outline.labels.shape == (image.height, image.width)
    assert outline.names == ("background", *model.objects)
    assert 0 < outline.labels.max() < len(outline.names)
    (found,) = next(model.annotate(photo, objects=1)).objects
    x0, y0, x1, y1 = found.box
    shown = outline.labels[y0:y1, x0:x1]
    assert outline.names.index(found.name) in shown
    assert not model.segment(photo, threshold=1.0).labels.any()


def test_refined_labels_are_those_of_the_dense_crf(model: Model, photo: Path) -> None:
    """Whether they differ from labels of regions depends on the photo and on rounding."""
    predicted = model.predict(photo)
    refined = refine_objects(*predicted, read_photo(photo).pixels, threshold=0.3)
    assert_array_equal(model.segment(photo, refine=True, threshold=0.3).labels, refined)
    assert_array_equal(model.segment(photo, threshold=0.3).labels, segment_objects(*predicted, threshold=0.3))


def test_an_overlay_shows_the_photo_with_its_objects(model: Model, photo: Path) -> None:
    outline = model.segment(photo)
    drawn = np.asarray(outline.overlay())
    with Image.open(photo) as image:
        pixels = np.asarray(image)
    drawn = drawn[: len(pixels)]
    changed = (drawn != pixels).any(axis=2)
    inside = outline.labels > 0
    assert changed[inside].mean() > 0.9
    assert changed[~inside].mean() < 0.2
    assert outline._repr_png_().startswith(b"\x89PNG")


def test_an_index_of_the_api_is_opened_and_searched(trained: Trained, model: Model) -> None:
    opened = tagsight.open_index(trained.folder / "my.index")
    assert [hit.path for hit in opened.find("red bird", top=3)] == trained.hits
    before = opened.manifest.generation
    model.index(trained.photos / "train", trained.folder / "my.index", progress=False)
    assert opened.manifest.generation == before, "the loaded model is the one that made the index"


def test_a_notebook_shows_the_photos_found(trained: Trained) -> None:
    opened = tagsight.open_index(trained.folder / "my.index")
    page = opened.find("red bird", top=2)._repr_html_()
    assert page.count("data:image/jpeg;base64,") == 2
    assert all(path in page for path in trained.hits[:2])
    assert opened.find_similar(0, top=3)._repr_html_().count("<img") == 3


def test_an_export_reports_what_it_wrote_and_left_out(model: Model, photo: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/a.jpg").write_bytes(photo.read_bytes())
    (tmp_path / "photos/b.jpg").write_bytes(b"")
    with pytest.warns(tagsight.LeftOutWarning, match="the file is empty"):
        summary = model.export(tmp_path / "photos", tmp_path / "out", format="coco", progress=False)
    written = json.loads((tmp_path / "out/instances_masks.json").read_text())
    assert summary.n_photos == len(written["images"]) == 1
    assert summary.n_objects == len(written["annotations"]) > 0
    assert [problem.path.name for problem in summary.unreadable] == ["b.jpg"]
    assert summary.refused == ()


def test_names_and_paths_are_escaped_in_a_notebook(model: Model, photo: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "<script>alert(1)<"
    hostile.mkdir()
    (hostile / "a.jpg").write_bytes(photo.read_bytes())
    shown = next(model.annotate(hostile / "a.jpg"))
    page = shown._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page
    assert 'src="data:image/jpeg;base64,' in page
    assert all(one.name in page for one in shown.objects)
    named = shown.objects[0]._replace(name="<b>")
    assert "<b>" not in tagsight.AnnotatedPhoto(None, (named,))._repr_html_()


def test_a_notebook_shows_one_bar_per_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, str]] = []  # the number of the display, and its HTML

    class Display:
        def __init__(self, number: int):
            self.number = number

        def update(self, picture: dict[str, str], *, raw: bool) -> None:
            drawn.append((self.number, picture["text/html"]))

    def display(picture: dict[str, str], *, raw: bool, display_id: bool) -> Display:
        number = len({number for number, _ in drawn})
        drawn.append((number, picture["text/html"]))
        return Display(number)

    shell = SimpleNamespace(kernel=None)
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    with show_progress() as report:
        for done in range(1001):
            report("reading <b>", done, 1000)
        report("counting", 3, 0)
    bars = [html for number, html in drawn if number == 0]
    assert len(bars) == 101, "a bar is drawn again at every hundredth"
    assert bars[-1] == "reading &lt;b&gt; <progress value=1000 max=1000></progress> 1000 of 1000"
    assert [html for number, html in drawn if number == 1] == ["counting 3"]


@pytest.mark.parametrize(
    ("pixels", "reason"),
    [
        (np.zeros((10, 10, 3)), "must be of type uint8, got float64"),
        (np.zeros((10, 10, 2), np.uint8), r"must have the shape .* got \(10, 10, 2\)"),
        (np.zeros((4, 10, 10, 3), np.uint8), "give several images as a list"),
        (np.zeros((0, 10, 3), np.uint8), r"got \(0, 10, 3\)"),
    ],
)
def test_an_array_that_is_not_an_image_is_refused(model: Model, pixels: np.ndarray, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        model.segment(pixels)


def test_an_argument_that_is_not_a_photo_is_refused(model: Model) -> None:
    with pytest.raises(InputError, match="a photo must be a path, a PIL image or an array, got int"):
        list(model.annotate([1]))  # pyright: ignore[reportArgumentType]


def test_an_unknown_option_lists_the_known_ones(trained: Trained) -> None:
    with pytest.raises(InputError, match=r"training has no option 'n_fre'; choose from .*n_free"):
        tagsight.train(trained.photos / "train", n_fre=3)  # pyright: ignore[reportCallIssue]


def test_a_missing_model_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no model file"):
        tagsight.load(tmp_path / "my.model")


def test_importing_tagsight_is_fast() -> None:
    code = "import sys, time; start = time.perf_counter(); import tagsight; print(time.perf_counter() - start)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(seconds) < 0.3


def test_public_names_can_be_completed() -> None:
    assert set(tagsight.__all__) <= set(dir(tagsight))
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        tagsight.trian  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_warnings_of_training_point_at_the_program(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise InputError("stopped")

    monkeypatch.setattr("tagsight.api.train_collection", stop)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(InputError, match="stopped"):
            tagsight.train(trained.photos / "train", progress=False)
    assert {one.category for one in caught} == {tagsight.TagsightWarning}
    assert {one.filename for one in caught} == {__file__}
