"""The features of one photo: regions with their vectors, their graph and their label map; and the cache of them."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tagsight.data.photo import Photo, read_photo
from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.features.extractor import FeatureExtractor
from tagsight.features.transforms import Block
from tagsight.regions import segment_photo
from tagsight.storage.files import locate_cache
from tagsight.storage.records import RecordFormat, load_record, save_record
from tagsight.types import Array, Floats

N_REGIONS = 80
MAX_REGIONS = 2000  # the region classifiers hold a matrix with a row and a column per region
CACHE_FORMAT = RecordFormat("cached photo", 4, "remove it")


class PhotoFeatures(NamedTuple):
    """The regions of one photo."""

    features: Array  # (R, D) float16
    labels: Array  # (h, w) int32: the region of each pixel, at the scale of analysis
    edges: Array  # (E, 2) int32: pairs of adjacent regions
    boundary: Array  # (E,) float32: pixels of shared boundary
    size: tuple[int, int]  # (W, H) of the whole photo
    blocks: tuple[Block, ...] = ()  # of each region's vector; empty: the vector is one block

    @property
    def area(self) -> Floats:
        """(R,) share of the photo that each region covers."""
        return np.bincount(self.labels.ravel(), minlength=len(self.features)) / self.labels.size

    @property
    def edge_weights(self) -> Floats:
        """(E,) shared boundary divided by its mean in the photo: 1 on average for any size of the photo."""
        mean = float(self.boundary.mean()) if len(self.boundary) else 1.0
        return self.boundary.astype(np.float64) / mean


class CachedPhoto(NamedTuple):
    """The content of a cache entry: `PhotoFeatures`, and what identifies the entry."""

    settings: str
    photo: str
    features: Array
    labels: bytes  # PNG, which compresses them tenfold
    edges: Array
    boundary: Array
    size: tuple[int, int]
    blocks: tuple[Block, ...]


class FeatureCache(NamedTuple):
    """A folder with one file of `PhotoFeatures` per photo, its entry.

    Entries are written whole or not at all. Each has a checksum and the name of its folder and of its photo, so that
    damaged or misplaced entries are detected; they are computed again.
    """

    folder: Path

    @classmethod
    def open(cls, fingerprint: str, n_regions: int) -> "FeatureCache":
        """The cache for one extractor (by its `fingerprint`) and one number of regions."""
        settings = sha256(f"{CACHE_FORMAT.schema} {fingerprint} {n_regions}".encode()).hexdigest()
        return cls(locate_cache() / "features" / settings[:24])

    def locate(self, photo: Path) -> Path:
        """The path of the photo's entry, whether it exists or not; copies of a photo share one."""
        try:
            content = photo.read_bytes()
        except OSError as problem:
            raise UnreadablePhotoError(photo, problem.strerror or str(problem)) from problem
        return self.folder / f"{sha256(content).hexdigest()[:40]}.safetensors"

    def load(self, entry: Path) -> PhotoFeatures | None:
        """The features in an entry; None if it is missing or damaged."""
        try:
            cached = load_record(CachedPhoto, entry, CACHE_FORMAT)
        except InputError:
            return None
        if (cached.settings, cached.photo) != self._identify(entry):
            return None
        labels = np.asarray(cv2.imdecode(np.frombuffer(cached.labels, np.uint8), cv2.IMREAD_UNCHANGED))
        _, _, features, _, edges, boundary, size, blocks = cached
        return PhotoFeatures(features, labels.astype(np.int32), edges, boundary, size, blocks)

    def store(self, entry: Path, photo: PhotoFeatures) -> None:
        """Write an entry."""
        ok, png = cv2.imencode(".png", photo.labels.astype(np.uint16))
        if not ok:
            raise InputError(f"a label map of shape {photo.labels.shape} cannot be stored as PNG; use a smaller photo")
        features, _, edges, boundary, size, blocks = photo
        cached = CachedPhoto(*self._identify(entry), features, png.tobytes(), edges, boundary, size, blocks)
        save_record(cached, entry, CACHE_FORMAT)

    def _identify(self, entry: Path) -> tuple[str, str]:
        return self.folder.name, entry.stem


def extract_photo(path: Path, extractor: FeatureExtractor, *, n_regions: int = N_REGIONS) -> PhotoFeatures:
    """Read a photo, cut it into about `n_regions` regions and extract their features, rounded to half precision."""
    return extract_pixels(read_photo(path), extractor, n_regions=n_regions)


def extract_pixels(photo: Photo, extractor: FeatureExtractor, *, n_regions: int = N_REGIONS) -> PhotoFeatures:
    """As `extract_photo`, for a photo that has been read."""
    regions = segment_photo(photo.pixels, n_regions)
    features = extractor.extract(photo.pixels, regions.labels).astype(np.float16)
    return PhotoFeatures(features, regions.labels, regions.edges, regions.boundary, photo.size, extractor.blocks)
