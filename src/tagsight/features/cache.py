"""Described photos on disk, by content of the photo and settings of the description."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError

from tagsight.errors import UnreadablePhotoError
from tagsight.features.photo_features import PhotoFeatures, to_photo_features, to_tensors
from tagsight.storage.files import locate_cache
from tagsight.storage.tensor_file import read_tensors, save_tensors

SCHEMA = 3


class FeatureCache(NamedTuple):
    """A folder of described photos; entries appear whole or not at all, and damaged ones are made again.

    An entry has a checksum and records what it is an entry of, so one that lies in another's place is noticed too.
    """

    folder: Path

    @classmethod
    def open(cls, fingerprint: str, n_regions: int) -> "FeatureCache":
        """The cache of one description: describer, number of regions, and the schema of its files."""
        settings = sha256(f"{SCHEMA} {fingerprint} {n_regions}".encode()).hexdigest()
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
            header, tensors, intact = read_tensors(place)
        except (OSError, SafetensorError):
            return None
        return to_photo_features(tensors) if intact and header == self._identify(place) else None

    def store(self, place: Path, photo: PhotoFeatures) -> None:
        """Keep an entry."""
        save_tensors(place, self._identify(place), to_tensors(photo))

    def _identify(self, place: Path) -> dict[str, str]:
        return {"settings": self.folder.name, "photo": place.stem}
