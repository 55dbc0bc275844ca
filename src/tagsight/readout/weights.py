"""How much each part of the readers counts."""

from typing import NamedTuple


class Weights(NamedTuple):
    """0 leaves a part out. Chosen on training photos (docs/explanation/readers.md)."""

    model: float = 0.1  # the model's log-odds, which count correlated features many times, in locating objects
    flow: float = 0.85  # of scores among kin by looks
    traits: float = 0.3  # part that attributes have in who is kin, which raises the flow; looks have the rest
    likeness: float = 0.4  # what a region is like, beside what it is
    height: float = 0.5  # how high in the photo a region lies
    doubt: float = 0.5  # what the photo as a whole doubts
    custom: float = 0.5  # what attributes are usual for an object, beside those seen
