"""The pages without a browser: what is on them, what is escaped, what they refuse."""

import re
from urllib.parse import quote

import httpx
import pytest
from markupsafe import escape

from tagsight.index import Index, open_index
from tagsight.web.server import serve_in_thread
from tests.web.conftest import HOSTILE_FILE, HOSTILE_TAG, Made


def photos_on(page: str) -> list[int]:
    grid = page[page.index('id="grid"') :]
    return [int(number) for number in re.findall(r'href="/photos/(\d+)', grid)]


def walk(client: httpx.Client, address: str) -> list[int]:
    """Every photo reached by following the link for more."""
    found: list[int] = []
    while address:
        page = client.get(address).text
        found += photos_on(page)
        more = re.search(r'id="more" rel="next" href="([^"]+)"', page)
        address = more[1].replace("&amp;", "&") if more else ""
    return found


def test_without_a_query_every_photo_is_reached(client: httpx.Client, made: Made) -> None:
    index = open_index(made.folder)
    assert walk(client, "/") == sorted(photo.photo for photo in index.list_photos(n=100))
    assert index.manifest.n_photos > 24, "one page would hold them all"


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_results_end_where_the_threshold_ends(client: httpx.Client, made: Made, threshold: float) -> None:
    index = open_index(made.folder)
    word = index.manifest.objects[0]
    expected = [hit.photo for hit in index.find(word, top=None, threshold=threshold)]
    assert walk(client, f"/?q={word}&threshold={threshold}") == expected


def test_a_result_shows_score_and_outline(client: httpx.Client, made: Made) -> None:
    index = open_index(made.folder)
    word = index.manifest.objects[0]
    hit = index.find(word, top=1)[0]
    page = client.get(f"/?q={word}&threshold=0").text
    assert f"{100 * hit.score:.0f}%" in page
    assert f'src="/api/photos/{hit.photo}/outline.svg?q={word}"' in page


def test_an_unknown_word_names_the_nearest(client: httpx.Client, made: Made) -> None:
    word = open_index(made.folder).manifest.objects[0]
    answer = client.get(f"/?q={word}xq")
    assert answer.status_code == 422
    assert f">{word}</a>" in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/photos/4294967295", 404), ("/photos/99999999999", 422), ("/photos/-1", 422), ("/nowhere", 404),
     ("/?threshold=2", 422), ("/?threshold=nan", 422), ("/?start=-1", 422), ("/?q=%22", 422), ("/?q=-", 422)],
)  # fmt: skip
def test_what_cannot_be_shown_is_said_in_a_sentence(client: httpx.Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert 'id="problem"' in answer.text


def test_hostile_tags_and_file_names_are_escaped(client: httpx.Client, made: Made) -> None:
    index = open_index(made.folder)
    photo = next(one.photo for one in index.list_photos(n=100) if one.path == HOSTILE_FILE)
    quoted = quote(f'"{HOSTILE_TAG}"')
    for address in ("/", f"/?q={quoted}", f"/?q={quote(HOSTILE_TAG)}", f"/photos/{photo}", "/factors",
                    f"/photos/{photo}?q={quoted}", f"/factors?named={quoted}"):  # fmt: skip
        text = client.get(address).text
        assert "<script>document" not in text, address
        assert "<img src=x" not in text, address
    assert escape(HOSTILE_FILE) in client.get(f"/photos/{photo}").text
    assert escape(HOSTILE_TAG) in client.get("/factors").text


def test_a_photo_page_tells_of_every_region(client: httpx.Client, made: Made) -> None:
    stored = open_index(made.folder).look_up(1)
    page = client.get("/photos/1").text
    for region, row in enumerate(stored.regions.probabilities[:, : len(stored.regions.names.objects)]):
        assert f'data-region="{region}"' in page
        words = page[page.index(f'data-words="{region}"') :].split("</section>")[0]
        best = stored.regions.names.objects[row.argmax()]
        if row.max() >= 0.01:
            assert f"<span>{best}</span>" in words
            assert f"{100 * row.max():.0f}%" in words
        assert ("No object" in words) == (row.max() < 0.5)


def test_a_named_factor_is_a_word_at_once_and_its_name_is_escaped(own: Index) -> None:
    with serve_in_thread(own) as address, httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        for name in ("Jagged", "<b>jag</b>"):
            answer = client.post("/factors/free-1/name", data={"name": name})
            assert answer.status_code == 303
            page = client.get(answer.headers["location"])
            assert "Now a word" in page.text
            assert "<b>jag</b>" not in page.text
            found = client.get("/api/search", params={"q": f'"{name}"', "threshold": 0}).json()["hits"]
            assert [hit["photo"] for hit in found] == [hit.photo for hit in own.find("free-1", top=24)]
        refused = client.post("/factors/free-2/name", data={"name": own.manifest.objects[0]})
        assert refused.status_code == 422
        assert "is a word of the index already" in refused.text
        assert client.post("/factors/free-77/name", data={"name": "x"}).status_code == 422


def test_a_sent_photo_is_shown_with_its_regions(client: httpx.Client, made: Made) -> None:
    answer = client.post("/annotate", content=made.other.read_bytes())
    assert answer.status_code == 200
    assert answer.text.count('class="region') == answer.text.count("data-words=") > 10
    refused = client.post("/annotate", content=b"no photo")
    assert refused.status_code == 422
    assert "the photo sent" in refused.text
