"""An open index follows updates, never mixes generations, and reports problems in one sentence."""

import json
import shutil
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.index import open_index
from tagsight.index import snapshot as snapshot_module
from tagsight.index.manifest import Manifest, part_file, write_manifest
from tagsight.index.parts import remove_unused, write_part
from tagsight.predict.probabilities import to_levels

from .made import NO_PARTS, K, draw_posteriors, make_photo, open_snapshot, put_photos, put_posteriors


def update(folder: Path, before: Manifest, value: float) -> Manifest:
    """Replace every photo as a build does: parts, then the manifest, then removal of unused parts."""
    first = before.next_photo
    photos = [make_photo(first + n, np.full((2, K), value), path=f"{n}.jpg") for n in range(6)]
    parts = (write_part(folder, photos[:3]), write_part(folder, photos[3:]))
    after = before._replace(generation=before.generation + 1, parts=parts, next_photo=first + 6)
    write_manifest(folder, after)
    remove_unused(folder, after, before)
    return after


def test_a_handle_follows_updates(tmp_path: Path) -> None:
    manifest = put_posteriors(tmp_path, [])
    index = open_index(tmp_path)
    assert index.find("horse") == []
    for value in (0.25, 0.5, 0.75):
        manifest = update(tmp_path, manifest, value)
        assert {round(hit.score, 2) for hit in index.find("horse")} == {value}
        assert index.path(index.find("horse")[0].photo) == Path("/photos/0.jpg")


def test_the_previous_generation_can_still_be_read(tmp_path: Path) -> None:
    old = update(tmp_path, put_posteriors(tmp_path, []), 0.25)
    reader = open_snapshot(tmp_path, old)
    update(tmp_path, old, 0.5)
    assert set(reader.read_tops([0])[0].tolist()) == {round(0.25 * 65535)}


def test_readers_see_one_generation_or_the_next(tmp_path: Path) -> None:
    manifest = update(tmp_path, put_posteriors(tmp_path, []), 0.0)
    index = open_index(tmp_path)
    done = threading.Event()
    mixed: list[object] = []
    values: set[float] = set()

    def predict() -> None:
        while not done.is_set():
            try:
                hits = index.find("furry horse", top=9)
            except Exception as error:
                mixed.append(error)
                return
            scores = {round(hit.score, 3) for hit in hits}
            values.update(scores)
            if len(hits) != 6 or len(scores) != 1 or len({hit.photo // 6 for hit in hits}) != 1:
                mixed.append(hits)

    readers = [threading.Thread(target=predict) for _ in range(3)]
    for reader in readers:
        reader.start()
    for step in range(1, 16):
        manifest = update(tmp_path, manifest, step / 20)
    done.set()
    for reader in readers:
        reader.join()
    assert not mixed
    assert len(values) > 1


def test_a_query_is_repeated_after_two_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = update(tmp_path, put_posteriors(tmp_path, []), 0.25)
    index = open_index(tmp_path)
    whole = snapshot_module.Snapshot.read_tops
    overtaken = False

    def read(self: snapshot_module.Snapshot, factors: list[int]) -> dict[int, np.ndarray]:
        nonlocal overtaken
        if not overtaken:
            overtaken = True
            update(tmp_path, update(tmp_path, manifest, 0.5), 0.75)
        return whole(self, factors)

    monkeypatch.setattr(snapshot_module.Snapshot, "read_tops", read)
    assert {round(hit.score, 2) for hit in index.find("horse")} == {0.75}


def test_columns_kept_in_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_module, "TOPS_KEPT", 2 * 40 * 3)
    posteriors = draw_posteriors(0, 40)
    n_regions = sum(map(len, posteriors))
    monkeypatch.setattr(snapshot_module, "LEVELS_KEPT", 2 * n_regions * 5)
    snapshot = open_snapshot(tmp_path, put_posteriors(tmp_path, posteriors))
    fresh = {k: snapshot.read_tops([k])[k] for k in range(K)}
    for k in (0, 5, 10, 3):
        assert np.array_equal(snapshot.read_tops([k])[k], fresh[k])
        assert np.array_equal(
            snapshot.read_levels([k], np.arange(40)).values[k], to_levels(np.vstack(posteriors)[:, k])
        )
    for n in (38, 39):
        for k in range(K):
            snapshot.read_levels([k], np.arange(n))
    assert len(snapshot._tops) == 3
    assert len(snapshot._levels) == 5


@pytest.mark.parametrize("name", ["with [1] and *?", 'quote\'s "x"', "é ü", "a;drop table x"])
def test_folders_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    put_posteriors(folder, draw_posteriors(0, 9), per_part=4)
    assert len(open_index(folder).find("horse", top=None)) == 9


def test_the_name_of_a_folder_is_not_a_glob_pattern(tmp_path: Path) -> None:
    manifest = put_posteriors(tmp_path / "i[1]", draw_posteriors(0, 3))
    shutil.copytree(tmp_path / "i[1]", tmp_path / "i1")
    part_file(tmp_path / "i[1]", manifest.parts[0].name).unlink()
    with pytest.raises(InputError, match=r"index. again .* to repair it"):
        open_index(tmp_path / "i[1]").find("horse")


def test_photos_may_have_any_name(tmp_path: Path) -> None:
    names = ['<b>&".jpg', "new\nline.jpg", "'; drop table photos; --.jpg", "\u202egpj.exe.jpg"]
    put_photos(tmp_path, [[make_photo(n, np.full((1, K), 0.5), path=name) for n, name in enumerate(names)]])
    assert [hit.path for hit in open_index(tmp_path).find("horse")] == names


def test_hostile_tags_can_be_searched(tmp_path: Path) -> None:
    tags = ("select", "p0", "photo", "'; drop table x; --", "a,b", "-x", "{{7*7}}", "<script>")
    manifest = NO_PARTS._replace(objects=tags, attributes=(), n_free=0)
    posterior = np.eye(len(tags)) * 0.8
    put_photos(tmp_path, [[make_photo(0, posterior)]], manifest)
    index = open_index(tmp_path)
    for k, tag in enumerate(tags):
        (hit,) = index.find(f'"{tag}"')
        assert hit.matches[0].region == k
        assert hit.matches[0].factors == (tag,)


def test_a_missing_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tagsight index"):
        open_index(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"kind": "other"}', "\x00", '{"kind": "tagsight index", "schema": 2}']
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, content: str) -> None:
    put_posteriors(tmp_path, draw_posteriors(0, 3))
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="manifest"):
        open_index(tmp_path)


def test_an_index_of_another_schema_is_refused(tmp_path: Path) -> None:
    put_posteriors(tmp_path, draw_posteriors(0, 3))
    content = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(content | {"schema": 99}))
    with pytest.raises(InputError, match="checksum does not match"):
        open_index(tmp_path)
    del content["sha256"]
    content["schema"] = 99
    digest = sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
    (tmp_path / "manifest.json").write_text(json.dumps(content | {"sha256": digest}))
    with pytest.raises(InputError, match="has schema 99"):
        open_index(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(InputError, match="is damaged"):
        open_index(tmp_path)


def test_a_missing_or_damaged_part_is_reported_with_the_remedy(tmp_path: Path) -> None:
    manifest = put_posteriors(tmp_path, draw_posteriors(0, 3))
    place = part_file(tmp_path, manifest.parts[0].name)
    place.write_bytes(place.read_bytes()[:100])
    with pytest.raises(InputError, match=r"index. again .* to repair it"):
        open_index(tmp_path).find("horse")
    place.unlink()
    with pytest.raises(InputError, match=r"index. again .* to repair it"):
        open_index(tmp_path).find("horse")


@pytest.mark.parametrize(
    "arguments", [{"top": 0}, {"threshold": 1.5}, {"threshold": -0.1}, {"threshold": float("nan")}]
)
def test_arguments_out_of_range_are_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    put_posteriors(tmp_path, draw_posteriors(0, 3))
    with pytest.raises(InputError):
        open_index(tmp_path).find("horse", **arguments)
