"""Collections with ground truth as trials."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagsight.data.vocabulary import Vocabulary
from tagsight.demo import read_classes, read_truth
from tagsight.demo.mask_measures import VOID
from tagsight.errors import InputError
from tagsight_bench.query_lists import draw_lists, read_lists, write_lists
from tagsight_bench.sources.apascal import MATERIALS, read_apascal
from tagsight_bench.sources.labelme import read_labelme
from tagsight_bench.sources.rendered import read_rendered
from tagsight_bench.sources.source import Source, TruePhoto, split_for_validation
from tagsight_bench.trial import ExtractedSource, Trial, locate_instances, make_trial

from ..evaluation.cases import make_photo


def make_trial_without_features(source: Source, n_attributes: int) -> Trial:
    """The trial with the same generated photo for all photos, for tests of the ground truth."""
    photo = (make_photo(),)
    return make_trial(ExtractedSource(source, photo * len(source.train), photo * len(source.test)), n_attributes)


def test_rendered_truth_as_arrays(demo: Path) -> None:
    truth = read_truth(demo / "photos")
    trial = make_trial_without_features(read_rendered(demo / "photos", "photos"), 10)
    tested = [photo for photo in truth.photos if photo.split == "test"]
    assert trial.vocabulary.objects == truth.objects
    assert truth.hidden not in trial.vocabulary.attributes
    for photo, instances, mask in zip(tested, trial.test.instances, trial.test.masks, strict=True):
        assert [trial.vocabulary.objects[o] for o in instances.objects] == [one.object for one in photo.instances]
        assert instances.boxes.tolist() == [list(one.box) for one in photo.instances]
        words = [{trial.vocabulary.attributes[a] for a in np.flatnonzero(row)} for row in instances.attributes]
        assert words == [set(one.attributes) - {truth.hidden} for one in photo.instances]
        assert (mask == read_classes(demo / "photos", photo)).all()
    union = np.array([instances.attributes.max(axis=0) for instances in trial.train.instances])
    assert (trial.train.tags.attributes == union).all()


def test_a_smaller_attribute_set_has_its_columns_only(demo: Path) -> None:
    trial = make_trial_without_features(read_rendered(demo / "photos", "photos"), 0)
    assert trial.train.tags.attributes.shape == (len(trial.train.photos), 0)
    assert trial.test.instances[0].attributes.shape[1] == 0
    with pytest.raises(InputError, match="choose one of 0, 10"):
        make_trial_without_features(read_rendered(demo / "photos", "photos"), 8)


def test_validation_never_uses_test_photos(demo: Path) -> None:
    source = read_rendered(demo / "photos", "photos")
    held = split_for_validation(source)
    train, test = {photo.path for photo in held.train}, {photo.path for photo in held.test}
    assert train | test == {photo.path for photo in source.train}
    assert not train & test
    assert abs(len(train) - len(test)) <= 1
    assert split_for_validation(source) == held
    assert [photo.path for photo in held.test] == sorted(test)


def test_void_of_a_mask_file_is_void(tmp_path: Path, demo: Path) -> None:
    source = read_rendered(demo / "photos", "photos")
    Image.fromarray(np.array([[0, 1], [2, 0]], np.uint8)).save(tmp_path / "mask.png")
    known = TruePhoto(tmp_path / "a.jpg", (), (), mask=tmp_path / "mask.png")
    labelled = source._replace(train=(), test=(known,), void=0)
    (mask,) = make_trial_without_features(labelled, 0).test.masks
    assert mask is not None
    assert mask.tolist() == [[VOID, 1], [2, VOID]]


def test_query_lists_are_read_as_written(tmp_path: Path, demo: Path) -> None:
    trial = make_trial_without_features(read_rendered(demo / "photos", "photos"), 10)
    lists = draw_lists(trial.test.instances, count=7)
    assert len(lists.pairs) == 7
    assert {len(query.attributes) for query in lists.triples} == {2}
    write_lists(tmp_path / "q.json", lists, trial.vocabulary)
    assert read_lists(tmp_path / "q.json", trial.vocabulary) == lists
    with pytest.raises(InputError, match="not in the collection"):
        read_lists(tmp_path / "q.json", Vocabulary(("nothing",), ()))
    (tmp_path / "q.json").write_text('{"pairs": []}')
    with pytest.raises(InputError, match="pairs and triples"):
        read_lists(tmp_path / "q.json", trial.vocabulary)


def test_the_committed_queries_are_those_of_the_script(repository: Path, real_data: Path) -> None:
    source = read_apascal(real_data / "apascal", "photos")
    assert (len(source.train), len(source.test)) == (2113, 2227)
    vocabulary = Vocabulary(source.vocabulary.objects, source.attribute_sets[64])
    truth = [locate_instances(photo, vocabulary) for photo in source.test]
    kept = read_lists(repository / "benchmarks/queries/apascal.json", vocabulary)
    assert kept == draw_lists(truth)
    assert (len(kept.pairs), len(kept.triples)) == (242, 300)


def test_the_materials_follow_their_rule(real_data: Path) -> None:
    for part in ("photos", "segmentation"):
        source = read_apascal(real_data / "apascal", part)
        named = [word for word in source.attribute_sets[64][51:] if word not in ("clear", "shiny")]
        count = {word: sum(word in photo.attributes for photo in source.train) for word in named}
        assert set(sorted(named, key=lambda word: -count[word])[:8]) == set(MATERIALS)
        assert list(source.attribute_sets) == [0, 8, 64, 74]


def test_real_boxes_lie_in_their_photos_and_masks_fit(real_data: Path) -> None:
    source = read_apascal(real_data / "apascal", "segmentation")
    for photo in source.test[:40]:
        assert photo.mask is not None
        with Image.open(photo.path) as image, Image.open(photo.mask) as mask:
            width, height = image.size
            assert mask.size == (width, height)
        for one in photo.boxes:
            x0, y0, x1, y1 = one.box
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height
    labelme = read_labelme(real_data / "labelme_outdoor", "photos")
    assert (len(labelme.train), len(labelme.test)) == (2127, 206)
    trial = make_trial_without_features(labelme._replace(train=labelme.train[:3], test=labelme.test[:3]), 0)
    for tags, mask in zip(trial.test.tags.objects, trial.test.masks, strict=True):
        assert mask is not None
        assert set(np.unique(mask)) - {VOID} <= set(np.flatnonzero(tags) + 1)
