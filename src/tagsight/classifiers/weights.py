"""How much each part of the readers counts."""

from typing import NamedTuple


class ClassifierWeights(NamedTuple):
    """0 leaves a part out. Chosen on training photos (docs/explanation/default.md)."""

    model: float = 0.1  # the model's log-odds, which count correlated features many times, in locating objects
    smoothing: float = 0.85  # of scores among kin by looks
    attribute_distance: float = (
        0.3  # part that attributes have in who is kin, which raises the flow; looks have the rest
    )
    attribute_likelihood: float = 0.4  # what a region is like, beside what it is
    height: float = 0.5  # how high in the photo a region lies
    photo_classifier: float = 0.5  # what the photo as a whole doubts
    attribute_prior: float = 0.5  # what attributes are usual for an object, beside those seen
