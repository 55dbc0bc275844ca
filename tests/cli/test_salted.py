"""A collection with bad files trains and annotates: good photos are used, bad ones are listed."""

import csv
import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .conftest import Trained, call

NAMES = ("plain", "a\nb", "smile 🙂")
EACH = 6  # files of every kind: 60 in all
BAD_KINDS = (
    "empty", "truncated", "html", "bomb", "noise", "float", "vanished", "outside", "folder", "unreadable",
)  # fmt: skip


def png_header(width: int, height: int) -> bytes:
    """A PNG with a size and no pixels."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def spoil(folder: Path, kind: str, name: str, good: bytes) -> str:
    """Add a bad file of a kind to the folder; returns its name in the table."""
    path = folder / name
    if kind == "outside":
        return f"../{name}"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "truncated":
        path.write_bytes(good[: len(good) // 3])
    elif kind == "html":
        path.write_text("<html><script>alert(1)</script>")
    elif kind == "bomb":
        path.write_bytes(png_header(60_000, 60_000))
    elif kind == "noise":
        path.write_bytes(np.random.default_rng(0).bytes(500))
    elif kind == "float":
        Image.fromarray(np.zeros((5, 5), np.float32)).save(path, "TIFF")
    elif kind == "folder":
        path.mkdir()
    elif kind == "unreadable":
        os.mkfifo(path)  # root can read everything; nothing writes to the pipe
    return name


@pytest.mark.slow
def test_a_collection_with_bad_files_trains_and_annotates(trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "salted"
    folder.mkdir()
    source = trained.photos / "train"
    good = sorted(source.glob("*.jpg"))[:12]
    with (source / "tags.csv").open(newline="") as file:
        rows = {row["image"]: row for row in csv.DictReader(file)}
    written: list[dict[str, str]] = []
    for n, path in enumerate(good):
        name = f"{NAMES[n % 3]} {n}.jpg"
        (folder / name).write_bytes(path.read_bytes())
        written.append({**rows[path.name], "image": name})
    for kind in BAD_KINDS:
        for n in range(EACH):
            called = spoil(folder, kind, f"{kind} {n}.jpg", good[0].read_bytes())
            written.append({"image": called, "objects": "bird", "attributes": "red"})
    with (folder / "tags.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["image", "objects", "attributes"])
        writer.writeheader()
        writer.writerows(written)

    model = tmp_path / "salted.model"
    result = call("train", folder, "-o", model, "--free", 2, "--regions", 30, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["photos"] == len(good)
    assert facts["left_out"] == EACH * len(BAD_KINDS)
    reported = [line for line in result.stderr.splitlines() if line.startswith("tagsight: left out")]
    assert len(reported) == EACH * len(BAD_KINDS)
    for kind in BAD_KINDS:
        assert sum(f"{kind} " in line for line in reported) >= EACH

    annotated = call("annotate", model, folder, "--json")
    assert annotated.exit_code == 0
    assert len(annotated.stdout.splitlines()) == len(good)
