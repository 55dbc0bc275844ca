"""HEIC with and without the optional package, and other image files: every file is read or reported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tagsight.data.listing import list_photos

STUB = """
from PIL import Image, PngImagePlugin

class Stub(PngImagePlugin.PngImageFile):
    "PNG content behind the 12 bytes that begin a HEIC file; its decoded size may differ from its header's."
    format = "HEIF"

    def _open(self):
        self.fp.seek(12)
        super()._open()

    def load(self):
        loaded = super().load()
        if "dpi" not in self.info:
            self.im = self.im.resize((self.width * 2, self.height))
            self._size = self.im.size
        return loaded

def register_heif_opener():
    Image.register_open("HEIF", Stub, lambda prefix: prefix[4:12] == b"ftypheic")
"""

REPORT = """
import json, sys
from pathlib import Path
if sys.argv[2] == "without":
    sys.modules["pi_heif"] = None
from tagsight.data.listing import list_photos
from tagsight.data.photo import read_photo
from tagsight.errors import UnreadablePhotoError
listing = list_photos(Path(sys.argv[1]))
read = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read[path.name] = read_photo(path).size
    except UnreadablePhotoError as error:
        read[path.name] = error.reason
problems = {problem.path.name: problem.reason for problem in listing.problems}
print(json.dumps({"photos": [path.name for path in listing.photos], "problems": problems, "read": read}))
"""


def report(folder: Path, plugin: str) -> dict[str, Any]:
    """What a process with or without pi-heif makes of a folder."""
    (folder.parent / "pi_heif.py").write_text(STUB)
    path = os.pathsep.join([str(folder.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", REPORT, str(folder), plugin]
    environment = os.environ | {"PYTHONPATH": path}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(run.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files that begin like HEIC: valid, too large, and decoded to another size than its header states."""
    place = tmp_path / "photos"
    place.mkdir()
    for name, size in {"good.HEIC": (40, 30), "large.heif": (20_000, 9_000), "grows.hif": (40, 30)}.items():
        Image.new("1", size).save(tmp_path / "a.png", dpi=None if name == "grows.hif" else (1, 1))
        content = (tmp_path / "a.png").read_bytes()
        (place / name).write_bytes(b"\0\0\0\x0cftypheic" + content)
    return place


def test_heic_is_listed_with_the_remedy_where_the_package_is_missing(folder: Path) -> None:
    found = report(folder, "without")
    assert found["photos"] == []
    for answers in (found["problems"], found["read"]):
        assert set(answers) == {"good.HEIC", "large.heif", "grows.hif"}
        assert all(reason.endswith("pip install 'tagsight[heic]'") for reason in answers.values())


def test_heic_is_read_with_the_package_under_the_same_limits(folder: Path) -> None:
    found = report(folder, "with")
    assert set(found["photos"]) == {"good.HEIC", "large.heif", "grows.hif"}
    assert found["problems"] == {}
    assert found["read"]["good.HEIC"] == [40, 30]
    assert "more than" in found["read"]["large.heif"]
    assert found["read"]["grows.hif"] == "its header states 40 x 30 pixels, its content has 80 x 30"


def test_other_image_files_are_reported_in_one_line(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.avif", "c.CR2", "sub/d.nef", "sub/e.svg", "f.txt", ".g.dng"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    listing = list_photos(tmp_path)
    assert [path.name for path in listing.photos] == ["a.jpg", "b.avif"]
    (problem,) = listing.problems
    assert problem.path == tmp_path
    assert problem.reason.startswith(
        "3 image files are of a format that is not read ('c.CR2', 'sub/d.nef', 'sub/e.svg')"
    )


def test_of_many_other_image_files_ten_are_named(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.dng").touch()
    (problem,) = list_photos(tmp_path).problems
    assert problem.reason.startswith("12 image files")
    assert "'09.dng', ...)" in problem.reason


def test_links_to_photos_are_photos_and_links_to_folders_are_reported(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.jpg").touch()
    for name, target in {"a.jpg": "out/a.jpg", "b.jpg": "out/a.jpg", "c.jpg": "nowhere.jpg", "sub": "out"}.items():
        (tmp_path / "in" / name).symlink_to(tmp_path / target)
    (tmp_path / "in/.hidden").symlink_to(tmp_path / "out")
    listing = list_photos(tmp_path / "in")
    assert [path.name for path in listing.photos] == ["a.jpg", "b.jpg"]
    reasons = {problem.path.name: problem.reason for problem in listing.problems}
    assert set(reasons) == {"c.jpg", "sub"}
    assert "broken link" in reasons["c.jpg"]
    assert "not followed" in reasons["sub"]
