"""Described photos on disk, by content of the photo and settings of the description."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.views import Block
from tagsight.storage.files import locate_cache
from tagsight.storage.records import RecordFormat, load_record, save_record
from tagsight.types import Array

FORMAT = RecordFormat("cached photo", 4, "remove it")


class CachedPhoto(NamedTuple):
    """`PhotoFeatures` as they are cached, with what identifies the entry."""

    settings: str
    photo: str
    features: Array
    labels: bytes  # PNG, which compresses them tenfold
    edges: Array
    boundary: Array
    size: tuple[int, int]
    blocks: tuple[Block, ...]


class FeatureCache(NamedTuple):
    """A folder of described photos; entries appear whole or not at all, and damaged ones are made again.

    An entry has a checksum and records what it is an entry of, so one that lies in another's place is noticed too.
    """

    folder: Path

    @classmethod
    def open(cls, fingerprint: str, n_regions: int) -> "FeatureCache":
        """The cache of one description: describer, number of regions, and the schema of its files."""
        settings = sha256(f"{FORMAT.schema} {fingerprint} {n_regions}".encode()).hexdigest()
        return cls(locate_cache() / "features" / settings[:24])

    def place(self, photo: Path) -> Path:
        """Where the photo's entry is or will be; a copy of a photo shares it."""
        try:
            content = photo.read_bytes()
        except OSError as problem:
            raise UnreadablePhotoError(photo, problem.strerror or str(problem)) from problem
        return self.folder / f"{sha256(content).hexdigest()[:40]}.safetensors"

    def load(self, place: Path) -> PhotoFeatures | None:
        """The entry at `place`, if there is a sound one."""
        try:
            entry = load_record(CachedPhoto, place, FORMAT)
        except InputError:
            return None
        if (entry.settings, entry.photo) != self._identify(place):
            return None
        labels = np.asarray(cv2.imdecode(np.frombuffer(entry.labels, np.uint8), cv2.IMREAD_UNCHANGED))
        _, _, features, _, edges, boundary, size, blocks = entry
        return PhotoFeatures(features, labels.astype(np.int32), edges, boundary, size, blocks)

    def store(self, place: Path, photo: PhotoFeatures) -> None:
        """Keep an entry."""
        ok, png = cv2.imencode(".png", photo.labels.astype(np.uint16))
        if not ok:
            raise InputError(f"a label map of shape {photo.labels.shape} cannot be stored")
        features, _, edges, boundary, size, blocks = photo
        entry = CachedPhoto(*self._identify(place), features, png.tobytes(), edges, boundary, size, blocks)
        save_record(entry, place, FORMAT)

    def _identify(self, place: Path) -> tuple[str, str]:
        return self.folder.name, place.stem
