"""Readers of collections, one module per format, and the function that opens a collection of any format."""

from pathlib import Path

from tagsight.data.collection import Collection, Table, collect
from tagsight.data.readers import apascal, coco, folder, imagefolder, imagenet_attributes, keywords, labelme
from tagsight.data.readers.reader import Options, Reader
from tagsight.data.synonyms import NO_SYNONYMS, load_synonyms
from tagsight.errors import InputError

READERS: dict[str, Reader] = {
    "folder": folder.READER,
    "imagefolder": imagefolder.READER,
    "apascal": apascal.READER,
    "labelme": labelme.READER,
    "coco": coco.READER,
    "imagenet-attributes": imagenet_attributes.READER,
    "keywords": keywords.READER,
}


def open_collection(
    path: Path | str,
    *,
    format: str | None = None,
    split: str | None = None,
    synonyms: Path | str | None = None,
    words: Path | str | None = None,
    images: Path | str | None = None,
    colours: bool = False,
) -> Collection:
    """Open a folder, or its tags file, of any known format.

    Args:
        path: Folder of the photos, or its tags file.
        format: Format of the collection. Default: detected from its files.
        split: Split to read, if the dataset has several.
        synonyms: File that maps tags to tags: CSV with the columns `from,to[,kind]`, or JSON.
        words: List of nouns and adjectives, for formats that do not tell them apart.
        images: Folder of the photos. Default: the usual place of the format.
        colours: Whether to add the colour attributes of aPascal.
    """
    place = Path(path)
    options = Options(split, _as_path(words), _as_path(images), colours)
    table = read_table(place, format, options)
    renamed = NO_SYNONYMS if synonyms is None else load_synonyms(Path(synonyms))
    return collect(table, name=place.resolve().name, synonyms=renamed)


def read_table(place: Path, format: str | None, options: Options) -> Table:
    """The rows of a collection as its files list them; arguments as in `open_collection`."""
    if not place.exists():
        raise InputError(f"{str(place)!r} does not exist: give the folder of the photos or its tags file")
    name = detect_format(place) if format is None else format
    if name not in READERS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(READERS)}")
    _refuse_unused(name, READERS[name], options)
    return READERS[name].read(place, options)


def detect_format(path: Path) -> str:
    """The name of the one format whose files are in the folder; InputError if there is none or more than one."""
    fitting = [name for name, reader in READERS.items() if reader.fits(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(f"{str(path)!r} fits the formats {' and '.join(fitting)}: choose one of them with --format")
    signs = "; ".join(f"{name}: {reader.signs}" for name, reader in READERS.items())
    raise InputError(f"no known collection in {str(path)!r}; looked for {signs}")


def _as_path(value: Path | str | None) -> Path | None:
    return None if value is None else Path(value)


def _refuse_unused(name: str, reader: Reader, options: Options) -> None:
    for option, value in options._asdict().items():
        if value not in (None, False) and option not in reader.takes:
            takers = [other for other, known in READERS.items() if option in known.takes]
            raise InputError(f"the format {name!r} takes no {option!r}: leave it out (it is for {', '.join(takers)})")
