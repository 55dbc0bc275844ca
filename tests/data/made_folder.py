"""A folder with empty photos and small files, made by a test."""

from collections.abc import Callable
from pathlib import Path

Make = Callable[..., Path]
"""``make(photos, name_DOT_csv=content, folder__name_DOT_txt=content)`` gives the folder's path."""


def fill_folder(folder: Path, photos: tuple[str, ...], files: dict[str, str | bytes]) -> Path:
    for name in photos:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
