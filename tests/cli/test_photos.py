"""Names of the outputs of photos: distinct, and as short as possible."""

from pathlib import Path

import pytest

from tagsight.cli.segment import name_outputs
from tagsight.data.listing import ChosenPhoto

CASES = {
    "named one by one": (["a/x.jpg", "a/y.jpg"], ["x", "y"]),
    "of one folder": (["c:c/x.jpg", "c:c/sub/x.jpg"], ["x", "sub/x"]),
    "two suffixes": (["c:c/x.jpg", "c:c/x.png", "c:c/y.png"], ["x.jpg", "x.png", "y"]),
    "two folders": (["a:a/x.jpg", "b:b/x.jpg", "b:b/y.jpg"], ["a/x.jpg", "b/x.jpg", "y"]),
    "one by one of two folders": (["a/x.jpg", "b/x.png", "b/x.jpg"], ["a/x.jpg", "x.png", "b/x.jpg"]),
    "case": (["a/x.jpg", "a/X.png"], ["x.jpg", "X.png"]),
    "a name like another's longer one": (["c:c/x.jpg", "c:c/x.png", "c:c/x.jpg.gif"], ["x.jpg", "x.png", "x.jpg.gif"]),
    "named twice": (["a/x.jpg", "a:a/x.jpg", "b/../a/x.jpg"], ["x"]),
    "none": ([], []),
}


@pytest.mark.parametrize("case", CASES)
def test_outputs_have_distinct_names(case: str) -> None:
    images, expected = CASES[case]
    chosen = [ChosenPhoto(Path(path), Path(folder) if folder else None) for folder, _, path in map(split, images)]
    names = list(name_outputs(chosen).values())
    assert [name.as_posix() for name in names] == expected
    assert len({str(name).casefold() for name in names}) == len(names)


def split(image: str) -> tuple[str, str, str]:
    return image.partition(":") if ":" in image else ("", "", image)
