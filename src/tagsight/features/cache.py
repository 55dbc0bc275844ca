"""Described photos on disk, by content of the photo and settings of the description."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.features.described import DescribedPhoto, pack, unpack
from tagsight.files import locate_cache, write_atomically

SCHEMA = 2


class FeatureCache(NamedTuple):
    """A folder of described photos; entries appear whole or not at all, and damaged ones are made again."""

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

    def load(self, place: Path) -> DescribedPhoto | None:
        """The entry at `place`, if there is a sound one."""
        if not place.is_file():
            return None
        try:
            return unpack(place.read_bytes())
        except InputError:
            return None

    def store(self, place: Path, photo: DescribedPhoto) -> None:
        """Keep an entry."""
        write_atomically(place, pack(photo))
