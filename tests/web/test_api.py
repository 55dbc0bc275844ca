"""The JSON API returns what the index contains, and images are correct."""

import os
import shutil
import threading
from io import BytesIO
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest
from PIL import Image

from tagsight.index import Index, open_index
from tagsight.index.manifest import read_manifest, write_manifest
from tagsight.predict.regions import paint_objects
from tagsight.web import uploads
from tagsight.web.images import ImageCache, PhotoFile, PhotoUnavailableError, locate_photo
from tests.web.conftest import WebFiles
from tests.web.serving import serve_in_thread


def test_search_returns_the_hits_of_the_index(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    query = f"{index.manifest.attributes[0]} {index.manifest.objects[0]}, {index.manifest.objects[1]}"
    answer = client.get("/api/search", params={"q": query, "threshold": 0, "start": 2, "count": 5}).json()
    expected = index.find(query, top=7)[2:]
    assert [hit["photo"] for hit in answer["hits"]] == [hit.photo for hit in expected]
    assert [hit["score"] for hit in answer["hits"]] == [hit.score for hit in expected]
    assert [len(hit["matches"]) for hit in answer["hits"]] == [2] * 5
    assert answer["next"] == 7


def test_next_is_null_on_the_last_page(client: httpx.Client, web_files: WebFiles) -> None:
    n_photos = open_index(web_files.index_folder).manifest.n_photos
    for count, following in ((n_photos - 1, n_photos - 1), (n_photos, None), (n_photos + 1, None)):
        assert client.get("/api/photos", params={"count": count}).json()["next"] == following


def test_an_unknown_word_is_answered_with_similar_words(client: httpx.Client, web_files: WebFiles) -> None:
    word = open_index(web_files.index_folder).manifest.objects[0]
    answer = client.get("/api/search", params={"q": f"{word}xq"})
    assert answer.status_code == 422
    assert answer.json()["word"] == f"{word}xq"
    assert answer.json()["nearest"][0] == word


def test_words_and_factors_match_the_model(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    words = client.get("/api/words").json()
    assert words["objects"] == list(index.manifest.objects)
    assert [one["factor"] for one in words["discovered"]] == ["free-1", "free-2", "free-3"]
    factors = client.get("/api/factors").json()
    assert [one["factor"] for one in factors] == list(index.model.factor_names)
    assert [len(one["example_crops"]) for one in factors] == [len(row) for row in index.model.example_crops]
    column = next(k for k, row in enumerate(index.model.example_crops) if row)
    picture = client.get(factors[column]["example_crops"][0])
    assert picture.content == index.model.example_crops[column][0].jpeg


def test_the_regions_of_a_photo_cover_it(client: httpx.Client, web_files: WebFiles) -> None:
    regions = open_index(web_files.index_folder).load_photo(2).regions
    answer = client.get("/api/photos/2").json()
    assert answer["size"] == list(regions.size)
    width, height = regions.size
    total = 0.0
    for region in answer["regions"]:
        x0, y0, x1, y1 = region["box"]
        for ring in region["outline"]:
            points = np.array(ring)
            assert (points >= (x0, y0)).all()
            assert (points <= (x1, y1)).all()
            x, y = points.T
            total += 0.5 * (np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
        best = region["objects"][0]
        assert best["score"] == regions.probabilities[region["region"], : len(regions.names.objects)].max()
        assert region["object"] == (best["name"] if best["score"] >= 0.5 else None)
    assert abs(total) == pytest.approx(width * height, rel=0.1)


def test_the_mask_equals_the_segmentation(client: httpx.Client, web_files: WebFiles) -> None:
    regions = open_index(web_files.index_folder).load_photo(2).regions
    for threshold in (0.2, 0.5):
        answer = client.get("/api/photos/2/mask.png", params={"threshold": threshold})
        image = Image.open(BytesIO(answer.content))
        assert image.mode == "P"
        np.testing.assert_array_equal(np.asarray(image), paint_objects(regions, threshold=threshold))


def test_an_outline_surrounds_the_best_region_and_its_fitting_neighbours(web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    n_apart = 0
    for column, word in enumerate(index.manifest.objects):
        for hit in index.find(word, top=5):
            regions = index.load_photo(hit.photo).regions
            (area,) = index.find_areas(hit.photo, word).areas
            inside = np.unique(regions.labels[area])
            fits = np.flatnonzero(regions.probabilities[:, column] >= 0.5 * hit.score)
            assert hit.matches[0].region in inside
            assert set(inside) <= set(fits)
            np.testing.assert_array_equal(area, np.isin(regions.labels, inside), "whole regions")
            assert cv2.connectedComponents(area.astype(np.uint8), connectivity=4)[0] == 2, "one piece"
            n_apart += len(fits) > len(inside)
    assert n_apart, "no photo has fitting regions elsewhere"


def test_an_image_is_upright_and_resized_and_has_no_metadata(index_copy: Index, tmp_path: Path) -> None:
    path = tmp_path / "turned.jpg"
    pixels = np.zeros((200, 900, 3), np.uint8)
    pixels[:, :450, 0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "secret"
    Image.fromarray(pixels).save(path, exif=exif)
    file = PhotoFile(path, 1, 1)
    content = ImageCache().load_jpeg(file, 480)
    image = Image.open(BytesIO(content))
    assert image.size == (107, 480)
    assert np.asarray(image)[0, 50, 0] > 200
    assert b"secret" not in content
    assert file.make_etag(480) != file.make_etag(1600)
    assert file.make_etag(480) != PhotoFile(path, 2, 1).make_etag(480)


def test_an_unchanged_image_is_answered_with_304(client: httpx.Client) -> None:
    first = client.get("/api/photos/1/picture.jpg")
    again = client.get("/api/photos/1/picture.jpg", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/api/photos/1/picture.jpg", headers={"if-none-match": '"x"'}).content == first.content


def test_cached_images_stay_within_the_memory_limit(web_files: WebFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_index(web_files.index_folder)
    files = [locate_photo(index, photo) for photo in range(6)]
    one = len(ImageCache().load_jpeg(files[0], 480))
    images = ImageCache(max_bytes=3 * one)
    for file in files:
        images.load_jpeg(file, 480)
    assert 0 < images._n_bytes == sum(map(len, images._cached.values())) <= 3 * one
    monkeypatch.setattr(ImageCache, "_encode", lambda *_: pytest.fail("the last one is cached"))
    images.load_jpeg(files[-1], 480)


def test_a_link_out_of_the_collection_is_served_only_if_its_file_is_unchanged(
    index_copy: Index, web_files: WebFiles, tmp_path: Path
) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(web_files.photos, photos)
    write_manifest(index_copy.folder, read_manifest(index_copy.folder)._replace(root=str(photos)))
    first, second = index_copy.list_photos(n=2)
    assert locate_photo(index_copy, second.photo).path == photos.resolve() / second.path
    outside = tmp_path / "outside.jpg"
    shutil.copy2(photos / first.path, outside)
    (photos / first.path).unlink()
    (photos / first.path).symlink_to(outside)
    assert locate_photo(index_copy, first.photo).path == outside.resolve()
    times = outside.stat().st_atime_ns, outside.stat().st_mtime_ns
    shutil.copyfile(web_files.unindexed, outside)
    for change in (lambda: None, lambda: os.utime(outside, ns=times)):
        change()
        with pytest.raises(PhotoUnavailableError, match="changed since it was indexed; run 'tagsight index' again"):
            locate_photo(index_copy, first.photo)
    shutil.copy2(web_files.photos / first.path, outside)
    os.utime(outside, ns=(times[0], times[1] + 1))
    with pytest.raises(PhotoUnavailableError, match="changed since it was indexed"):
        locate_photo(index_copy, first.photo)
    (photos / first.path).unlink()
    (photos / first.path).symlink_to(photos / second.path)
    assert locate_photo(index_copy, first.photo).path == (photos / second.path).resolve()
    os.unlink(photos / first.path)
    with serve_in_thread(index_copy) as address:
        answer = httpx.get(f"{address}/api/photos/{first.photo}/picture.jpg", trust_env=False)
    assert (answer.status_code, answer.json()["detail"]) == (404, f"the file of photo {first.photo} no longer exists")


def test_an_uploaded_photo_gets_the_same_answer_as_an_indexed_one(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    path = index.path(4)
    sent = client.post("/api/annotate", content=path.read_bytes()).json()
    stored = client.get("/api/photos/4").json()
    assert sent["objects"] == [{**one, "score": pytest.approx(one["score"], abs=1e-4)} for one in stored["objects"]]
    assert [one["outline"] for one in sent["regions"]] == [one["outline"] for one in stored["regions"]]
    mask = client.post("/api/annotate/mask.png", content=path.read_bytes())
    stored_mask = client.get("/api/photos/4/mask.png")
    np.testing.assert_array_equal(Image.open(BytesIO(mask.content)), Image.open(BytesIO(stored_mask.content)))


def test_a_photo_with_too_many_pixels_is_rejected(client: httpx.Client) -> None:
    stream = BytesIO()
    Image.new("1", (8000, 8000)).save(stream, "PNG")
    answer = client.post("/api/annotate", content=stream.getvalue())
    assert answer.status_code == 422
    assert "60,000,000 pixels" in answer.json()["detail"]


def test_uploads_beyond_the_queue_limit_are_rejected(
    index_copy: Index, web_files: WebFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, inside = threading.Event(), threading.Semaphore(0)
    running: list[int] = []

    def predict(self: uploads.UploadAnnotator, content: bytes) -> None:
        running.append(1)
        assert len(running) == 1, "photos are annotated one at a time"
        inside.release()
        gate.wait(30)
        running.pop()
        raise uploads.make_busy_error("annotated")

    monkeypatch.setattr(uploads.UploadAnnotator, "predict", predict)
    answers: list[httpx.Response] = []
    with serve_in_thread(index_copy) as address:

        def send() -> None:
            answers.append(httpx.post(f"{address}/api/annotate", content=b"x", timeout=60, trust_env=False))

        waiting = [threading.Thread(target=send) for _ in range(uploads.MAX_WAITING + 4)]
        for thread in waiting:
            thread.start()
        assert inside.acquire(timeout=30)
        while len(answers) < 3:
            gate.wait(0.01)
        assert all(answer.status_code == 429 and answer.headers["retry-after"] for answer in answers)
        assert all("too many photos are waiting" in answer.json()["detail"] for answer in answers)
        gate.set()
        for thread in waiting:
            thread.join()
    assert sorted(answer.json()["detail"] for answer in answers)[:5] == ["annotated"] * 5


def test_an_uploaded_photo_is_not_written_to_disk(
    client: httpx.Client, web_files: WebFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = os.open

    def watch(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            opened.append(str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", watch)
    monkeypatch.setattr("builtins.open", lambda *arguments, **_: pytest.fail(f"opened {arguments}"))
    assert client.post("/api/annotate", content=web_files.unindexed.read_bytes()).status_code == 200
    assert opened == []


def test_every_operation_and_parameter_is_described(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["paths"]
    assert document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["description"].endswith("."), (method, path)
            for parameter in operation.get("parameters", []):
                assert parameter["description"].endswith("."), (method, path, parameter["name"])
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"].endswith("."), name


def test_errors_match_their_openapi_description(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    n_pictures = 0
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert "503" in operation["responses"], (method, path)
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/json"], (method, path, status)
                    name = response["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
                    assert "detail" in described["components"]["schemas"][name]["properties"]
                elif status == "200":
                    n_pictures += not {"application/json"} & set(response["content"])
    assert n_pictures == 5
    for path in ("picture.jpg", "mask.png", "outline.svg?q=zzz", "outline.svg"):
        for photo in ("4294967295", "x"):
            answer = client.get(f"/api/photos/{photo}/{path}")
            assert answer.status_code in (404, 422)
            assert answer.headers["content-type"] == "application/json"
            assert "detail" in answer.json()
