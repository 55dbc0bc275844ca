"""The HTML of the pages: contents, escaping and errors."""

import re
from urllib.parse import quote

import httpx
import pytest
from markupsafe import escape

from tagsight.index import Index, open_index
from tests.web.conftest import HOSTILE_FILE, HOSTILE_TAG, WebFiles
from tests.web.serving import serve_in_thread


def photos_on(page: str) -> list[int]:
    grid = page[page.index('id="grid"') :]
    return [int(number) for number in re.findall(r'href="/photos/(\d+)', grid)]


def follow_pages(client: httpx.Client, address: str) -> list[int]:
    """The photos of a page and of all pages that follow it."""
    found: list[int] = []
    while address:
        page = client.get(address).text
        found += photos_on(page)
        more = re.search(r'id="more" rel="next" href="([^"]+)"', page)
        address = more[1].replace("&amp;", "&") if more else ""
    return found


def test_without_a_query_every_photo_is_listed(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    assert follow_pages(client, "/") == sorted(photo.photo for photo in index.list_photos(n=100))
    assert index.manifest.n_photos > 24, "the photos need more than one page"


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_results_end_at_the_threshold(client: httpx.Client, web_files: WebFiles, threshold: float) -> None:
    index = open_index(web_files.index_folder)
    word = index.manifest.objects[0]
    expected = [hit.photo for hit in index.find(word, top=None, threshold=threshold)]
    assert follow_pages(client, f"/?q={word}&threshold={threshold}") == expected


def test_a_result_shows_score_and_outline(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    word = index.manifest.objects[0]
    hit = index.find(word, top=1)[0]
    page = client.get(f"/?q={word}&threshold=0").text
    assert f"{100 * hit.score:.0f}%" in page
    assert f'src="/api/photos/{hit.photo}/outline.svg?q={word}"' in page


def test_the_search_page_counts_the_photos_and_explains_the_percentage(
    client: httpx.Client, web_files: WebFiles
) -> None:
    index = open_index(web_files.index_folder)
    word, other = index.manifest.objects[0], index.manifest.attributes[0]
    for query, threshold in ((word, 0.0), (word, 0.3), (f"{other} {word}", 0.05), (f"{word}, {other}", 0.1)):
        n_hits = len(index.find(query, top=None, threshold=threshold))
        page = client.get("/", params={"q": query, "threshold": threshold}).text
        assert f"{n_hits} photo{'s score' if n_hits != 1 else ' scores'} {100 * threshold:.0f}% or more" in page
        assert "The percentage is the probability that the photo shows" in page
        answer = client.get("/api/search", params={"q": query, "threshold": threshold, "count": 3}).json()
        assert answer["total"] == n_hits
    nothing = client.get("/", params={"q": f"{word} {other}", "threshold": 1}).text
    assert "No photo scores 100% or more" in nothing
    assert "The probabilities of the parts are multiplied" in client.get("/", params={"q": f"{word}, {other}"}).text
    assert "are multiplied" not in client.get("/", params={"q": word}).text
    assert "Lower the minimum score, or leave out a word" in nothing
    assert "probability that the object is in the photo" in client.get("/photos/1").text


def test_a_photo_reached_from_a_search_shows_the_match(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    manifest = index.manifest
    pairs = [f'"{a}" {o}' for o in manifest.objects for a in manifest.attributes[::4]]
    queries = [
        *(f'"{word}"' for word in manifest.factor_names),
        *pairs,
        f"{manifest.objects[0]}, {manifest.objects[1]}",
    ]
    n_hits = 0
    for query in queries:
        page = client.get("/", params={"q": query, "threshold": 0.2}).text
        links = [link.replace("&amp;", "&") for link in re.findall(r'href="(/photos/[^"]+)"', page)]
        hits = index.find(query, top=24, threshold=0.2)
        assert len(links) == len(hits)
        for link, hit in list(zip(links, hits, strict=True))[::3]:
            photo = client.get(link).text
            searched = photo[photo.index('id="searched"') :].split("</fieldset>")[0]
            assert searched.count("data-toggle-searched") == photo.count('<path class="searched"') == len(hit.matches)
            for match in hit.matches:
                words = escape(" ".join(match.factors))
                assert f'{words} <span class="quiet">region {match.region}</span>' in searched
                assert f">{100 * match.score:.0f}%</span>" in searched
            chosen = re.findall(r'data-region="(\d+)" role="button" aria-pressed="true"', photo)
            assert chosen == [str(hit.matches[0].region)]
            assert 'data-searched="0" d="M' in photo
            n_hits += 1
    assert n_hits > 100


def test_a_photo_is_shown_even_if_the_query_is_invalid(client: httpx.Client) -> None:
    answer = client.get("/photos/1", params={"q": "zzz"})
    assert answer.status_code == 200
    assert "has no word" in answer.text
    assert 'id="searched"' not in answer.text
    assert 'id="searched"' not in client.get("/photos/1").text


def test_the_instructions_for_touch_and_pointer_differ(client: httpx.Client) -> None:
    style = client.get("/static/style.css").text
    assert (
        "@media (hover: none) and (pointer: coarse) { .with-pointer { display: none } .with-touch { display: inline } }"
        in style
    )
    for path in ("/photos/1", "/annotate"):
        page = client.get(path).text
        assert 'class="with-touch"' in page
        assert 'class="with-pointer"' in page
    assert "Tap a region" in client.get("/photos/1").text


def test_a_name_is_removed_on_the_page_and_with_the_api(index_copy: Index) -> None:
    with serve_in_thread(index_copy) as address, httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        assert "Remove the name" not in client.get("/factors").text
        for remove in (
            lambda: client.post("/factors/free-1/name/remove"),
            lambda: client.delete("/api/factors/free-1/name"),
        ):
            client.put("/api/factors/free-1/name", json={"name": "jagged"})
            assert client.get("/factors").text.count('action="/factors/free-1/name/remove"') == 1
            assert remove().status_code in (200, 303)
            assert index_copy.names == {}
            assert client.get("/api/search", params={"q": "jagged"}).status_code == 422
            assert remove().status_code == 422
        assert client.put("/api/factors/free-1/name", json={"name": "jagged"}).status_code == 200
        answer = client.delete("/api/factors/free-1/name")
        assert answer.json() == {"factor": "free-1", "name": None}


def test_an_unknown_word_is_answered_with_similar_words(client: httpx.Client, web_files: WebFiles) -> None:
    word = open_index(web_files.index_folder).manifest.objects[0]
    answer = client.get(f"/?q={word}xq")
    assert answer.status_code == 422
    assert f">{word}</a>" in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/photos/4294967295", 404), ("/photos/99999999999", 422), ("/photos/-1", 422), ("/nowhere", 404),
     ("/?threshold=2", 422), ("/?threshold=nan", 422), ("/?start=-1", 422), ("/?q=%22", 422), ("/?q=-", 422)],
)  # fmt: skip
def test_an_invalid_request_shows_a_page_with_the_problem(client: httpx.Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert 'id="problem"' in answer.text


def test_hostile_tags_and_file_names_are_escaped(client: httpx.Client, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    photo = next(one.photo for one in index.list_photos(n=100) if one.path == HOSTILE_FILE)
    quoted = quote(f'"{HOSTILE_TAG}"')
    for address in ("/", f"/?q={quoted}", f"/?q={quote(HOSTILE_TAG)}", f"/photos/{photo}", "/factors",
                    f"/photos/{photo}?q={quoted}", f"/factors?named={quoted}"):  # fmt: skip
        text = client.get(address).text
        assert "<script>document" not in text, address
        assert "<img src=x" not in text, address
    assert escape(HOSTILE_FILE) in client.get(f"/photos/{photo}").text
    assert escape(HOSTILE_TAG) in client.get("/factors").text


def test_a_photo_page_lists_every_region(client: httpx.Client, web_files: WebFiles) -> None:
    stored = open_index(web_files.index_folder).load_photo(1)
    page = client.get("/photos/1").text
    assert page.count("data-region=") >= len(stored.regions.probabilities) > 1
    for region, row in enumerate(stored.regions.probabilities[:, : len(stored.regions.names.objects)]):
        assert f'data-region="{region}"' in page
        words = page[page.index(f'data-words="{region}"') :].split("</section>")[0]
        best = stored.regions.names.objects[row.argmax()]
        if row.max() >= 0.01:
            assert f"<span>{best}</span>" in words
            assert f"{100 * row.max():.0f}%" in words
        assert ("No object" in words) == (row.max() < 0.5)


def test_a_named_factor_can_be_searched_at_once_and_its_name_is_escaped(index_copy: Index) -> None:
    with serve_in_thread(index_copy) as address, httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        for name in ("Jagged", "<b>jag</b>"):
            answer = client.post("/factors/free-1/name", data={"name": name})
            assert answer.status_code == 303
            page = client.get(answer.headers["location"])
            assert "Name saved" in page.text
            assert "<b>jag</b>" not in page.text
            found = client.get("/api/search", params={"q": f'"{name}"', "threshold": 0}).json()["hits"]
            assert [hit["photo"] for hit in found] == [hit.photo for hit in index_copy.find("free-1", top=24)]
        refused = client.post("/factors/free-2/name", data={"name": index_copy.manifest.objects[0]})
        assert refused.status_code == 422
        assert "is a word of the index already" in refused.text
        assert client.post("/factors/free-77/name", data={"name": "x"}).status_code == 422


def test_an_uploaded_photo_is_shown_with_its_regions(client: httpx.Client, web_files: WebFiles) -> None:
    answer = client.post("/annotate", content=web_files.unindexed.read_bytes())
    assert answer.status_code == 200
    assert answer.text.count('class="region') == answer.text.count("data-words=") > 10
    refused = client.post("/annotate", content=b"no photo")
    assert refused.status_code == 422
    assert "the uploaded photo" in refused.text
