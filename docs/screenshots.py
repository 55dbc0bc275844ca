"""Pictures of the demo and of every page that serves it: make pictures (needs Chromium and its driver)."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.web.browser import open_browser

from tagsight.demo.run import run_demo
from tagsight.index import build_index, list_source, open_index
from tagsight.predict.model_file import load_model
from tagsight.runtime.progress import no_progress
from tagsight.web.server import serve_in_thread

DEMO = Path(__file__).parent / "images/demo.jpg"
PICTURES = Path(__file__).parent / "pictures"
WIDE, PHONE = (1280, 860), (390, 844)
N_PHOTOS = 300
DEMO_PART = (0, 290, 1200, 1340)  # of its page: some unseen photos
QUERY = "red car"


class Shot(NamedTuple):
    """A page as it is pictured."""

    name: str
    address: str
    size: tuple[int, int] = WIDE
    dark: bool = False
    upload: bool = False
    region: bool = False


SHOTS = [
    Shot("search", f"/?q={QUERY}&threshold=0.5"),
    Shot("home", "/"),
    Shot("search-dark", f"/?q={QUERY}&threshold=0.5", dark=True),
    Shot("search-phone", f"/?q={QUERY}&threshold=0.5", PHONE),
    Shot("photo", "photo", region=True),
    Shot("photo-dark", "photo", dark=True, region=True),
    Shot("photo-phone", "photo", PHONE, region=True),
    Shot("factors", "/factors"),
    Shot("factors-dark", "/factors", dark=True),
    Shot("factors-phone", "/factors", PHONE),
    Shot("annotate", "/annotate", upload=True),
    Shot("annotate-dark", "/annotate", dark=True, upload=True),
    Shot("annotate-phone", "/annotate", PHONE, upload=True),
]


def main() -> None:
    with TemporaryDirectory() as folder:
        made = Path(folder)
        page, _ = run_demo(made, n_photos=N_PHOTOS, seed=0, report=no_progress)
        left, top, right, bottom = DEMO_PART
        shot = take(Shot("demo", "", (right, bottom)), page.as_uri(), 0, page)
        shot.crop((left, top, right, bottom)).save(DEMO, quality=85)
        build_index(load_model(made / "demo.model"), list_source(made / "photos/test"), made / "demo.index")
        take_all(made / "demo.index", sorted((made / "photos/train").glob("*.jpg"))[0])


def take_all(folder: Path, upload: Path) -> None:
    """Every shot of an index."""
    index = open_index(folder)
    photo = index.find(QUERY, top=1)[0]
    PICTURES.mkdir(exist_ok=True)
    with serve_in_thread(index) as address:
        for shot in SHOTS:
            place = f"/photos/{photo.photo}?q={QUERY}" if shot.address == "photo" else shot.address
            picture = take(shot, address + place, photo.matches[0].region, upload)
            picture.quantize(256, Image.Quantize.MAXCOVERAGE).save(PICTURES / f"{shot.name}.png", optimize=True)
            print(PICTURES / f"{shot.name}.png")


def take(shot: Shot, address: str, region: int, upload: Path) -> Image.Image:
    """One page as the browser draws it."""
    with TemporaryDirectory() as profile:
        browser = open_browser(Path(profile), shot.size, dark=shot.dark)
        try:
            browser.get(address)
            if shot.upload:
                browser.find_element(By.ID, "file").send_keys(str(upload))
                WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#answer .region"))
                browser.execute_script("document.querySelector('#answer .region[tabindex=\"0\"]').focus()")
                browser.execute_script("document.querySelector('h1').scrollIntoView()")
            if shot.region:
                browser.execute_script(f"document.querySelector('[data-region=\"{region}\"]').focus()")
                browser.execute_script("scrollTo(0, 0)")
            WebDriverWait(browser, 20).until(
                lambda b: b.execute_script(
                    "return [...document.images].every(i => i.complete || i.getBoundingClientRect().top > innerHeight)"
                )
            )
            time.sleep(0.5)  # for what fades in
            path = Path(profile) / "shot.png"
            browser.save_screenshot(str(path))
            return Image.open(path).convert("RGB")
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
