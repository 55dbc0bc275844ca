"""An index of a small rendered collection with hostile tags and file names, and a server for it."""

import csv
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tagsight.data.readers import open_collection
from tagsight.demo import render_collection
from tagsight.index import Index, build_index, list_source, open_index
from tagsight.predict.model_file import load_model, save_model
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train
from tests.web.serving import serve_in_thread

HOSTILE_TAG = "<script>document.title='pwned'</script>"
HOSTILE_FILE = "\"><img src=x onerror=document.title='pwned'>.jpg"
N_PHOTOS = 40


class WebFiles(NamedTuple):
    """The files that the tests of the web server share."""

    photos: Path
    model: Path
    index_folder: Path
    unindexed: Path  # a photo that is not in the index


@pytest.fixture(scope="session")
def web_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebFiles]:
    folder = tmp_path_factory.mktemp("web")
    before = os.environ.get("TAGSIGHT_CACHE")
    os.environ["TAGSIGHT_CACHE"] = str(folder / "cache")
    render_collection(folder / "rendered", n_photos=N_PHOTOS, seed=3)
    photos = folder / "rendered/train"
    add_hostile_texts(photos)
    options = TrainOptions(n_free=3, n_regions=30, n_workers=1)
    save_model(train(open_collection(photos), options).model, folder / "a.model")
    build_index(load_model(folder / "a.model"), list_source(photos), folder / "a.index", n_workers=1)
    other = sorted((folder / "rendered/test").glob("*.jpg"))[0]
    yield WebFiles(photos, folder / "a.model", folder / "a.index", other)
    if before is None:
        del os.environ["TAGSIGHT_CACHE"]
    else:
        os.environ["TAGSIGHT_CACHE"] = before


def add_hostile_texts(photos: Path) -> None:
    """Give every second photo a hostile tag, and one photo a hostile file name."""
    path = photos / "tags.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[::2]:
        row["attributes"] = f"{row['attributes']};{HOSTILE_TAG}"
    (photos / rows[0]["image"]).rename(photos / HOSTILE_FILE)
    rows[0]["image"] = HOSTILE_FILE
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="session")
def address(web_files: WebFiles) -> Iterator[str]:
    """The address of a server whose index no test changes."""
    with serve_in_thread(open_index(web_files.index_folder)) as address:
        yield address


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        yield client


@pytest.fixture
def index_copy(web_files: WebFiles, tmp_path: Path) -> Index:
    """A copy of the index that a test may change."""
    shutil.copytree(web_files.index_folder, tmp_path / "index_copy.index")
    return open_index(tmp_path / "index_copy.index")
