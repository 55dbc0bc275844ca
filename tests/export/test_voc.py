"""VOC masks, read by Pillow."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from PIL import Image

from tagsight.data.collection import Problem
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export import voc
from tagsight.export.output import OutputFile, Target
from tagsight.types import Array

from .made import RING, TARGET, make_files, make_photo, owners


@given(owners)
def test_pixels_are_classes_in_vocs_colours(owner: Array) -> None:
    photo = make_photo(owner)
    with Image.open(BytesIO(make_files(voc.write, photo)["SegmentationClass/a.png"])) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "P", photo.size)
        pixels, palette = np.asarray(image), image.getpalette()
    expected = np.zeros(owner.shape, int)
    for n, instance in enumerate(photo.instances):
        expected[photo.mask(n)] = instance.category + 1
    assert_array_equal(pixels, expected)
    assert palette is not None
    assert palette[:9] == [0, 0, 0, 128, 0, 0, 0, 128, 0]


def test_names_follow_the_pixel_values() -> None:
    assert make_files(voc.write, make_photo(RING))["class_names.txt"] == b"background\nhorse\ncar\n"


def test_a_second_photo_with_the_same_file_name_is_left_out() -> None:
    made = list(voc.write([make_photo(RING, "a.jpg"), make_photo(RING * 0, "a.png")], TARGET))
    assert [type(one) for one in made] == [OutputFile, Problem, OutputFile]
    assert isinstance(made[1], Problem)
    assert made[1].path.name == "a.png"
    assert "'SegmentationClass/a.png' is already the file of 'a.jpg'" in made[1].reason


def test_too_many_objects_for_a_palette() -> None:
    many = Target(Vocabulary(tuple(f"thing {n}" for n in range(255)), ()), TARGET.folder)
    with pytest.raises(InputError, match="holds 254 objects and the model has 255"):
        list(voc.write([], many))
