"""The figures of the paper, in percent.

Shi, Yang, Hospedales and Xiang, "Weakly-Supervised Image Annotation and Segmentation with Objects and Attributes",
TPAMI 2017. Its features, its regions and, for LabelMe Outdoor, its labels differ from ours, so its columns do not state
what these methods would reach here. Keys are names of `methods.METHODS`; the paper's strongly supervised column is
`ssvm` for annotation and `supervised` for masks.
"""

from typing import NamedTuple


class Annotation(NamedTuple):
    """Free annotation, given name, given location; None where the paper has no figure."""

    ap2: float | None
    ap5: float | None
    ap8: float | None
    given_name: float | None
    given_location: float | None
    auc: float | None = None


APASCAL: dict[str, Annotation] = {
    "wsvm": Annotation(24.8, 21.2, 20.3, None, 33.2),
    "miml": Annotation(28.7, 22.4, 21.0, 32.1, 35.1),
    "wlda": Annotation(30.7, 24.0, 21.5, 35.5, 35.8),
    "wsdc": Annotation(29.8, 25.1, 21.3, 36.3, 38.4),
    "ws-mrf-sibp": Annotation(40.1, 29.7, 25.0, 39.3, 43.6, 81.5),
    "ssvm": Annotation(40.6, 30.3, 23.8, 41.8, 42.1, 83.4),
}
IMAGENET: dict[str, Annotation] = {
    "wsvm": Annotation(46.3, 41.1, 37.5, 32.4, 37.7),
    "miml": Annotation(46.6, 43.2, 38.3, 33.5, 39.1),
    "wlda": Annotation(48.4, 43.1, 38.4, 39.6, 46.8),
    "wsdc": Annotation(48.0, 42.7, 36.5, 44.2, 48.2),
    "ws-mrf-sibp": Annotation(60.7, 54.2, 50.0, 52.8, 53.9),
    "ssvm": Annotation(65.9, 60.7, 53.2, 56.8, 56.8),
}
MIOU: dict[str, dict[int, float]] = {
    "wsdc": {0: 18.2},
    "ws-mrf-sibp": {0: 23.6, 8: 27.3, 64: 28.9, 74: 29.4},
    "supervised": {0: 37.1},
}
LABELME: dict[str, dict[str, tuple[float, float]]] = {  # per-pixel, per-class accuracy
    "wsdc": {"inductive": (19.3, 25.0)},
    "ws-mrf-sibp": {"inductive": (46.2, 23.8), "transductive": (52.5, 31.2), "predict": (48.1, 26.7)},
    "supervised": {"inductive": (79.8, 48.7)},
}
SECONDS_AN_ITERATION = {"wlda": 65, "wsdc": 70, "ws-mrf-sibp": 80}  # 2,113 photos; about 1,500 iterations
SECONDS_A_TEST_PHOTO = {"ws-mrf-sibp": 0.2}
