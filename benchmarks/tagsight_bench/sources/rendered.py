"""The collection that `tagsight demo` rendered, with boxes and masks."""

from pathlib import Path

from tagsight.data.readers import open_collection
from tagsight.data.vocabulary import Vocabulary
from tagsight.demo import PhotoTruth, read_truth
from tagsight_bench.sources.source import Source, TrueBox, TruePhoto


def read_rendered(folder: Path, part: str) -> Source:
    """The photos; there is one part. The attribute that is never tagged is left out."""
    collection = open_collection(folder / "train", format="folder")
    truth = read_truth(folder)
    named = tuple(word for word in truth.attributes if word != truth.hidden)
    vocabulary = Vocabulary(truth.objects, named)  # the value c of a mask is object c - 1
    tagged = {photo.path.name: photo for photo in collection.photos}
    known = [(photo.split, _make_photo(folder, photo)) for photo in truth.photos]
    train = tuple(
        photo._replace(objects=tagged[photo.path.name].objects, attributes=tagged[photo.path.name].attributes)
        for split, photo in known
        if split == "train"
    )
    return Source(
        vocabulary,
        {0: (), len(named): named},
        train,
        tuple(photo for split, photo in known if split == "test"),
        255,
    )


def _make_photo(folder: Path, photo: PhotoTruth) -> TruePhoto:
    boxes = tuple(TrueBox((one.object,), one.attributes, one.box) for one in photo.instances)
    return TruePhoto(
        folder / photo.image,
        tuple(sorted({box.objects[0] for box in boxes})),
        tuple(sorted({word for box in boxes for word in box.attributes})),
        boxes,
        folder / "truth" / "classes" / f"{photo.stem}.png",
    )
