"""Make the pictures of the guides: the demo report and every page of `tagsight serve`.

Run it with `make pictures`. It needs Chromium and chromium-driver in /usr/bin.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.web.browser import open_browser
from tests.web.serving import serve_in_thread

from tagsight.demo.run import run_demo
from tagsight.index import build_index, list_source, open_index
from tagsight.predict.model_file import load_model
from tagsight.runtime.progress import no_progress

DEMO = Path(__file__).parent / "images/demo.jpg"
PICTURES = Path(__file__).parent / "pictures"
WIDE, PHONE = (1280, 860), (390, 844)  # pixels of the window
N_PHOTOS = 300  # of the demo
DEMO_PART = (0, 290, 1200, 1340)  # of the demo report: some test photos
QUERY = "red car"


class Shot(NamedTuple):
    """What one picture shows. The address {photo} stands for the best photo of QUERY."""

    name: str
    address: str
    size: tuple[int, int] = WIDE
    dark: bool = False


SHOTS = [
    Shot("home", "/"),
    *(
        Shot(page + suffix, address, size, dark)
        for page, address in [
            ("search", f"/?q={QUERY}&threshold=0.5"),
            ("photo", f"/photos/{{photo}}?q={QUERY}"),
            ("factors", "/factors"),
            ("annotate", "/annotate"),
        ]
        for suffix, size, dark in [("", WIDE, False), ("-dark", WIDE, True), ("-phone", PHONE, False)]
    ),
]


def main() -> None:
    """Run the demo and save all pictures."""
    with TemporaryDirectory() as folder:
        demo = Path(folder)
        report, _ = run_demo(demo, n_photos=N_PHOTOS, seed=0, report=no_progress)
        left, top, right, bottom = DEMO_PART
        picture = take_screenshot(Shot("demo", report.as_uri(), (right, bottom)))
        picture.crop((left, top, right, bottom)).save(DEMO, quality=85)
        build_index(load_model(demo / "demo.model"), list_source(demo / "photos/test"), demo / "demo.index")
        save_pictures(demo / "demo.index", sorted((demo / "photos/train").glob("*.jpg"))[0])


def save_pictures(folder: Path, upload: Path) -> None:
    """Save the pictures of SHOTS for the index in `folder`; `upload` is the photo that is annotated."""
    index = open_index(folder)
    photo = index.find(QUERY, top=1)[0].photo
    PICTURES.mkdir(exist_ok=True)
    with serve_in_thread(index) as server:
        for shot in SHOTS:
            picture = take_screenshot(shot._replace(address=server + shot.address.format(photo=photo)), upload)
            picture.save(PICTURES / f"{shot.name}.webp", quality=88, method=6)
            print(PICTURES / f"{shot.name}.webp")


def take_screenshot(shot: Shot, upload: Path | None = None) -> Image.Image:
    """Open a page in Chromium and return what the window shows."""
    with TemporaryDirectory() as profile:
        browser = open_browser(Path(profile), shot.size, dark=shot.dark)
        try:
            browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": shot.size == PHONE})
            browser.get(shot.address)
            if upload and shot.address.endswith("/annotate"):
                annotate(browser, upload)
            WebDriverWait(browser, 20).until(
                lambda b: b.execute_script(
                    "return [...document.images].every(i => i.complete || i.getBoundingClientRect().top > innerHeight)"
                )
            )
            time.sleep(0.5)  # until transitions have ended
            path = Path(profile) / "shot.png"
            browser.save_screenshot(str(path))
            return Image.open(path).convert("RGB")
        finally:
            browser.quit()


def annotate(browser: webdriver.Chrome, upload: Path) -> None:
    """Upload a photo on the annotate page, and show one of its regions."""
    browser.find_element(By.ID, "file").send_keys(str(upload))
    WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#answer .region"))
    browser.execute_script("document.querySelector('#answer .region[tabindex=\"0\"]').focus()")
    browser.execute_script("document.querySelector('h1').scrollIntoView()")


if __name__ == "__main__":
    main()
