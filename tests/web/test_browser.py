"""The pages in Chromium."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tagsight.index import Index, open_index
from tagsight.index.errors import BusyError
from tests.web.browser import CHROMIUM, DRIVER, open_browser, resize
from tests.web.conftest import HOSTILE_TAG, WebFiles
from tests.web.serving import serve_in_thread

pytestmark = pytest.mark.skipif(
    not (CHROMIUM.exists() and DRIVER.exists()), reason="no Chromium and chromium-driver in /usr/bin"
)
T = TypeVar("T")
WIDE, PHONE = (1200, 800), (390, 844)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    browser = open_browser(tmp_path_factory.mktemp("profile"), WIDE)
    yield browser
    browser.quit()


@pytest.fixture(autouse=True)
def check_console(browser: webdriver.Chrome) -> Iterator[None]:
    """Fail if the console reports an error or a blocked request, other than an expected status 422."""
    resize(browser, WIDE)
    browser.get_log("browser")
    yield
    messages = [entry["message"] for entry in browser.get_log("browser") if "422" not in entry["message"]]
    assert messages == []


def wait(browser: webdriver.Chrome, condition: Callable[[webdriver.Chrome], T]) -> T:
    return WebDriverWait(browser, 20, 0.05).until(condition)


def shown_photos(browser: webdriver.Chrome) -> list[int]:
    script = "return [...document.querySelectorAll('#grid a')].map(a => parseInt(a.pathname.split('/')[2]))"
    return browser.execute_script(script)


def by_id(browser: webdriver.Chrome, name: str) -> WebElement:
    return browser.find_element(By.ID, name)


def press_keys(browser: webdriver.Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def get_focused(browser: webdriver.Chrome) -> WebElement:
    return browser.switch_to.active_element


def test_search_suggests_words_and_lists_photos_to_the_threshold(
    browser: webdriver.Chrome, address: str, web_files: WebFiles
) -> None:
    index = open_index(web_files.index_folder)
    word = index.manifest.objects[0]
    browser.get(address)
    by_id(browser, "q").send_keys(word[:2])
    options = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#suggestions [role=option]"))
    assert options[0].text.startswith(word)
    options[0].click()
    expected = [hit.photo for hit in index.find(word, top=None, threshold=0.2)]
    wait(browser, lambda b: shown_photos(b)[: len(expected)] == expected[:24])
    slider = by_id(browser, "threshold")
    browser.execute_script(
        "arguments[0].value = 0; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", slider
    )
    everything = [hit.photo for hit in index.find(word, top=None)]
    wait(browser, lambda b: len(shown_photos(b)) >= 24 and "threshold=0" in b.current_url)
    assert by_id(browser, "threshold-shown").text == "0%"
    while len(shown_photos(browser)) < len(everything):
        before = len(shown_photos(browser))
        browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        wait(browser, lambda b: len(shown_photos(b)) > before)  # noqa: B023
    assert shown_photos(browser) == everything
    assert by_id(browser, "last").is_displayed()
    assert browser.find_elements(By.ID, "more") == []
    slider.send_keys(Keys.END)
    certain = [hit.photo for hit in index.find(word, top=None, threshold=1.0)]
    assert len(certain) < len(everything)
    wait(browser, lambda b: "threshold=1" in b.current_url and shown_photos(b) == certain[:24])
    outlines = "return [...document.querySelectorAll('.outline')].every(i => i.naturalWidth > 0)"
    assert browser.execute_script(outlines)


def test_an_outline_covers_its_photo(browser: webdriver.Chrome, address: str, web_files: WebFiles) -> None:
    browser.get(f"{address}/?q={open_index(web_files.index_folder).manifest.objects[0]}&threshold=0")
    places = browser.execute_script(
        "return [...document.querySelectorAll('.frame')].slice(0, 4).map(f => [...f.children].map(i => {"
        "const b = i.getBoundingClientRect(); return [b.x, b.y, b.width, b.height].map(Math.round)}))"
    )
    assert len(places) == 4
    assert all(photo == outline for photo, outline in places)


def test_pointing_at_a_region_shows_its_words_and_outlines_can_be_hidden(
    browser: webdriver.Chrome, address: str, web_files: WebFiles
) -> None:
    index = open_index(web_files.index_folder)
    hit = index.find(index.manifest.objects[0], top=1)[0]
    browser.get(f"{address}/photos/{hit.photo}")
    details = by_id(browser, "details")
    assert "Point at a region" in details.text
    regions = index.load_photo(hit.photo).regions
    wanted = hit.matches[0].region
    rows, columns = (regions.labels == wanted).nonzero()
    middle = len(rows) // 2
    y, x = rows[middle], columns[middle]
    stage = browser.find_element(By.CSS_SELECTOR, ".stage svg")
    box = stage.rect
    h, w = regions.labels.shape
    place = ((x + 0.5) / w - 0.5) * box["width"], ((y + 0.5) / h - 0.5) * box["height"]
    ActionChains(browser).move_to_element_with_offset(stage, round(place[0]), round(place[1])).perform()
    wait(browser, lambda b: f"region {wanted}" in details.text)
    assert index.manifest.objects[0] in details.text
    shape = browser.find_element(By.CSS_SELECTOR, f'[data-region="{wanted}"]').get_attribute("d")
    assert browser.find_element(By.CSS_SELECTOR, ".selection").get_attribute("d") == shape
    assert f"{100 * hit.score:.0f}%" in details.text
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    wait(browser, lambda b: "Point at a region" in details.text)
    toggles = browser.find_elements(By.CSS_SELECTOR, "[data-toggle]")
    outline = browser.find_element(By.CSS_SELECTOR, '[data-object="0"]')
    assert outline.is_displayed()
    toggles[0].click()
    assert not outline.is_displayed()


def test_the_instructions_fit_the_input_device(browser: webdriver.Chrome, address: str) -> None:
    resize(browser, PHONE)
    for touch, region, photo in (
        (True, "Tap a region", "Choose a photo"),
        (False, "Point at a region", "Drop a photo"),
    ):
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
        browser.get(f"{address}/photos/1")
        assert by_id(browser, "details").text.startswith(region)
        browser.get(f"{address}/annotate")
        assert browser.find_element(By.CSS_SELECTOR, "label[for=file]").text.startswith(photo)


def test_a_hit_opens_a_photo_with_the_match(browser: webdriver.Chrome, address: str, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    query = f"{index.manifest.attributes[0]} {index.manifest.objects[0]}"
    browser.get(f"{address}/?q={query}&threshold=0")
    hit = index.find(query, top=1)[0]
    wait(browser, lambda b: shown_photos(b)[:1] == [hit.photo])
    browser.find_element(By.CSS_SELECTOR, "#grid a").click()
    searched = wait(browser, lambda b: b.find_element(By.ID, "searched"))
    assert query in searched.text
    assert f"{100 * hit.matches[0].score:.0f}%" in searched.text
    wait(browser, lambda b: f"region {hit.matches[0].region}" in by_id(b, "details").text)
    assert browser.find_element(By.CSS_SELECTOR, '[data-searched="0"]').is_displayed()


def test_a_factor_is_named_and_searched(browser: webdriver.Chrome, index_copy: Index) -> None:
    with serve_in_thread(index_copy) as address:
        browser.get(f"{address}/factors")
        field = browser.find_element(By.CSS_SELECTOR, "#free-1 input[name=name]")
        field.send_keys(index_copy.manifest.objects[0], Keys.ENTER)
        assert "word of the index already" in wait(browser, lambda b: b.find_element(By.ID, "refused")).text
        field = get_focused(browser)
        assert field.get_attribute("aria-describedby") == "refused"
        field.clear()
        field.send_keys("jagged <i>edge</i>", Keys.ENTER)
        wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#free-1 .right a")).click()
        expected = [hit.photo for hit in index_copy.find("free-1", top=None, threshold=0.2)]
        assert expected
        wait(browser, lambda b: b.find_elements(By.ID, "grid") and shown_photos(b) == expected[:24])
        assert browser.find_element(By.ID, "q").get_attribute("value") == '"jagged <i>edge</i>"'
        browser.get("about:blank")


def test_a_photo_is_annotated(browser: webdriver.Chrome, address: str, web_files: WebFiles, tmp_path: Path) -> None:
    browser.get(f"{address}/annotate")
    wrong = tmp_path / "wrong.jpg"
    wrong.write_bytes(b"not a photo")
    by_id(browser, "file").send_keys(str(wrong))
    wait(browser, lambda b: "cannot be read" in by_id(b, "problem").text)
    by_id(browser, "file").send_keys(str(web_files.unindexed))
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#answer .region"))
    assert not by_id(browser, "problem").is_displayed()
    assert get_focused(browser) == by_id(browser, "answer")
    loaded = "return document.querySelector('#answer img').naturalWidth"
    assert wait(browser, lambda b: b.execute_script(loaded)) == 320
    press_keys(browser, Keys.TAB)
    assert get_focused(browser).get_attribute("role") == "button"
    assert "region" in by_id(browser, "details").text
    assert by_id(browser, "saving").is_displayed()


def test_a_photo_is_dropped(browser: webdriver.Chrome, address: str) -> None:
    browser.get(f"{address}/annotate")
    browser.execute_script(
        "const canvas = document.createElement('canvas'); canvas.width = canvas.height = 64;"
        "canvas.getContext('2d').fillRect(9, 9, 30, 30);"
        "canvas.toBlob(blob => { const data = new DataTransfer(); data.items.add(new File([blob], 'made.png'));"
        "document.body.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: data})) })"
    )
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#answer .region"))
    assert "made.png" in by_id(browser, "status").text


def test_a_hostile_tag_is_displayed_as_text(browser: webdriver.Chrome, address: str, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    assert HOSTILE_TAG in index.manifest.attributes
    for place in ("/", "/factors", *(f"/photos/{photo.photo}" for photo in index.list_photos(n=3))):
        browser.get(address + place)
        time.sleep(0.1)
        assert "pwned" not in browser.title or place.startswith("/photos"), place
        assert browser.execute_script("return document.scripts.length") <= 1
        assert browser.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
    browser.get(address)
    by_id(browser, "q").send_keys("docum")
    option = wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#suggestions [role=option]"))
    assert HOSTILE_TAG in option.text
    assert browser.title.startswith("Search")


def test_all_functions_work_with_the_keyboard(browser: webdriver.Chrome, address: str, web_files: WebFiles) -> None:
    index = open_index(web_files.index_folder)
    word = index.manifest.objects[0]
    browser.get(address)
    press_keys(browser, Keys.TAB)
    assert get_focused(browser).text == "Skip to content"
    assert get_focused(browser).rect["y"] >= 0, "the link is visible when it has the focus"
    press_keys(browser, Keys.ENTER)
    press_keys(browser, Keys.TAB)
    assert get_focused(browser) == by_id(browser, "q")
    press_keys(browser, word[:2])
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#suggestions [role=option]"))
    press_keys(browser, Keys.ARROW_DOWN)
    marked = get_focused(browser).get_attribute("aria-activedescendant")
    assert marked
    assert by_id(browser, marked).text.startswith(word)
    press_keys(browser, Keys.ENTER)
    best = index.find(word, top=1)[0]
    wait(browser, lambda b: f"q={word}" in b.current_url and shown_photos(b)[:1] == [best.photo])
    assert get_focused(browser).get_attribute("value") == f"{word} "
    press_keys(browser, Keys.TAB, Keys.TAB)
    assert get_focused(browser) == by_id(browser, "threshold")
    press_keys(browser, Keys.TAB)
    ring = browser.execute_script("return getComputedStyle(document.activeElement).outlineWidth")
    assert ring != "0px"
    press_keys(browser, Keys.ENTER)
    wait(browser, lambda b: f"/photos/{best.photo}?" in b.current_url and b.find_elements(By.ID, "details"))
    wait(browser, lambda b: f"region {best.matches[0].region}" in by_id(b, "details").text)
    while get_focused(browser).get_attribute("role") != "button":
        press_keys(browser, Keys.TAB)
    first = get_focused(browser).get_attribute("data-region")
    assert first == str(best.matches[0].region)
    moved = []
    for key in (Keys.ARROW_LEFT, Keys.ARROW_UP, Keys.ARROW_RIGHT, Keys.ARROW_DOWN):
        press_keys(browser, key)
        moved.append(get_focused(browser).get_attribute("data-region"))
        assert f"region {moved[-1]}" in by_id(browser, "details").text
    assert set(moved) - {first}
    press_keys(browser, Keys.TAB)
    assert get_focused(browser).get_attribute("data-toggle-searched") == "0"
    outline = browser.find_element(By.CSS_SELECTOR, '[data-searched="0"]')
    assert outline.is_displayed()
    press_keys(browser, Keys.SPACE)
    assert not outline.is_displayed()
    press_keys(browser, Keys.TAB)
    assert get_focused(browser).get_attribute("data-toggle") == "0"
    press_keys(browser, Keys.SPACE)
    assert not browser.find_element(By.CSS_SELECTOR, '[data-object="0"]').is_displayed()


def test_an_error_of_the_server_replaces_the_photos(
    browser: webdriver.Chrome, index_copy: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Index, *_: object, **__: object) -> None:
        raise BusyError("there is not enough memory for this request now; try again later")

    def search(word: str) -> str:
        by_id(browser, "q").clear()
        by_id(browser, "q").send_keys(word, Keys.ENTER)
        wait(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, '#results[aria-busy="true"], #grid'))
        return by_id(browser, "results").text

    words = index_copy.manifest.objects
    with serve_in_thread(index_copy) as address:
        browser.get(f"{address}/?q={words[0]}&threshold=0")
        assert shown_photos(browser)
        with monkeypatch.context() as patch:
            patch.setattr(Index, "find", refuse)
            assert "not enough memory" in search(words[1])
    assert "does not answer" in search(words[0])
    wanted = ("503", "ERR_CONNECTION_REFUSED")
    assert all(any(one in entry["message"] for one in wanted) for entry in browser.get_log("browser"))


@pytest.mark.parametrize("size", [PHONE, WIDE], ids=["phone", "wide"])
def test_pages_fit_the_window_and_controls_have_names(
    browser: webdriver.Chrome, address: str, size: tuple[int, int]
) -> None:
    resize(browser, size)
    for place in ("/", "/?q=zz", "/photos/1", "/factors", "/annotate"):
        browser.get(address + place)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0], place
        nameless = browser.execute_script(
            "return [...document.querySelectorAll('input, button, a, [role=button]')].filter(e => !(e.labels?.length"
            " || e.textContent.trim() || e.getAttribute('aria-label') || e.querySelector('img[alt]:not([alt=\"\"])')))"
            ".map(e => e.outerHTML)"
        )
        assert nameless == [], place
        assert browser.execute_script("return document.querySelectorAll('main, h1').length") >= 1
        assert browser.execute_script("return [...document.images].every(i => i.hasAttribute('alt'))")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser: webdriver.Chrome, address: str, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    lowest: dict[str, float] = {}
    for place in ("/?q=zz", "/photos/1", "/factors", "/annotate"):
        browser.get(address + place)
        lowest[place] = browser.execute_script(CONTRAST)
    assert min(lowest.values()) >= 4.5, lowest
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{**features[0], "value": "light"}]})


CONTRAST = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const linear = (v) => v <= 0.03928 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
const light = (colour) => { const [r, g, b] = parts(colour).map(linear); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if ((parts(colour)[3] ?? 1) > 0.99) return colour;
  }
  return 'rgb(255, 255, 255)';
};
let lowest = 21;
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest('svg, .score, noscript, [hidden]') || !e.getClientRects().length) continue;
  const [a, b] = [light(getComputedStyle(e).color), light(ground(e))];
  lowest = Math.min(lowest, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
}
return lowest;
"""
