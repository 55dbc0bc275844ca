"""The pages, the API and `tagsight annotate` list the same objects of a photo, in the same order."""

import json
import re
from html import unescape
from pathlib import Path

import httpx
import pytest

from tagsight.index import open_index
from tagsight.predict.probabilities import LEVELS
from tests.cli.conftest import call
from tests.web.conftest import WebFiles

STEP = 1 / LEVELS


@pytest.fixture(scope="module")
def annotated(web_files: WebFiles) -> dict[int, list[dict]]:
    """The objects that the command lists for every photo of the index, by number."""
    index = open_index(web_files.index_folder)
    photos = [photo.photo for photo in index.list_photos(n=100)]
    result = call("annotate", str(web_files.model), *(str(index.path(photo)) for photo in photos), "--json")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return {photo: line["objects"] for photo, line in zip(photos, lines, strict=True)}


def test_the_api_lists_the_objects_of_the_command(
    client: httpx.Client, web_files: WebFiles, annotated: dict[int, list[dict]]
) -> None:
    index = open_index(web_files.index_folder)
    objects = list(index.manifest.objects)
    assert annotated
    for photo, expected in annotated.items():
        listed = client.get(f"/api/photos/{photo}").json()["objects"]
        assert len(listed) == len(expected) == 2
        assert [one["score"] for one in listed] == pytest.approx([one["score"] for one in expected], abs=STEP)
        for field in ("name", "region"):
            assert [one[field] for one in listed] == [one[field] for one in expected]
        probabilities = index.load_photo(photo).regions.probabilities
        for one in listed:
            column = probabilities[:, objects.index(one["name"])]
            assert column[one["region"]] == column.max() == one["score"]


def test_the_number_of_objects_is_an_option_of_the_command_and_the_api(
    client: httpx.Client, web_files: WebFiles
) -> None:
    path = open_index(web_files.index_folder).path(3)
    n_objects = len(open_index(web_files.index_folder).manifest.objects)
    result = call("annotate", str(web_files.model), str(path), "--json", "--objects", str(n_objects))
    expected = json.loads(result.stdout)["objects"]
    listed = client.get("/api/photos/3", params={"objects": n_objects}).json()["objects"]
    sent = client.post("/api/annotate", params={"objects": n_objects}, content=path.read_bytes()).json()["objects"]
    assert len(expected) == len(listed) == len(sent) == n_objects
    for answered in (listed, sent):
        assert [one["score"] for one in answered] == pytest.approx([one["score"] for one in expected], abs=STEP)
    assert [one["name"] for one in sent] == [one["name"] for one in expected]


def read_objects(page: str) -> list[tuple[str, str]]:
    """Names and percentages of the objects on a page, in order."""
    listed = page[page.index("<legend>Objects</legend>") :].split("</fieldset>")[0]
    return [
        (unescape(name), score)
        for name, score in re.findall(r'<span class="word">([^<]+)</span><span class="number">(\d+%)</span>', listed)
    ]


def test_the_pages_list_the_objects_of_the_api(
    client: httpx.Client, web_files: WebFiles, annotated: dict[int, list[dict]]
) -> None:
    index = open_index(web_files.index_folder)
    for photo in list(annotated)[:10]:
        listed = client.get(f"/api/photos/{photo}").json()["objects"]
        shown = [(one["name"], f"{100 * one['score']:.0f}%") for one in listed]
        assert read_objects(client.get(f"/photos/{photo}").text) == shown
    path: Path = index.path(4)
    sent = client.post("/annotate", content=path.read_bytes()).text
    expected = [(one["name"], f"{100 * one['score']:.0f}%") for one in annotated[4]]
    assert read_objects(sent) == expected


def test_the_outline_of_an_object_surrounds_its_regions(web_files: WebFiles) -> None:
    from tagsight.pictures.drawing import draw_photo
    from tagsight.pictures.outlines import draw_path, outline_mask

    index = open_index(web_files.index_folder)
    for photo in range(10):
        regions = index.load_photo(photo).regions
        objects = draw_photo(regions, 3).objects
        assert objects
        for one in objects:
            column = regions.names.objects.index(one.name)
            inside = regions.named.label == column + 1
            inside[one.region] = True
            assert one.path == draw_path(outline_mask(inside[regions.labels], regions.size))
            assert one.path
