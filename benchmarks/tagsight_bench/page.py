"""The page of results: every table of the paper, with the figures of the paper beside the measured ones."""

from collections.abc import Container, Mapping, Sequence

from tagsight.features.extractor import FAMILIES
from tagsight_bench import paper
from tagsight_bench.board import Board, Cell, Column, Pick, tabulate
from tagsight_bench.collections import COLLECTIONS
from tagsight_bench.methods import ABLATIONS, ADDITIVE_ABLATIONS, DEFAULT_ABLATIONS, METHODS, MODEL_ABLATIONS
from tagsight_bench.plan import ABLATED
from tagsight_bench.sources.apascal import MATERIALS
from tagsight_bench.times import render_times

ALL = 64  # attributes of aPascal
DIGEST_FEATURES = "deep"
DIGEST = ("tagsight", "activation", "wsvm", "ws-mrf-sibp", "ssvm", "supervised")

HEAD = """# Results

`python benchmarks/results_page.py` writes this page from the files in `benchmarks/results/cells`; [run
benchmarks](howto/bench.md) describes how to measure them. All methods use the same regions and the same features.
Figures are percent, mean ± standard deviation over seeds; a figure without ± is of one seed. **Bold** is the best
of the methods that learn from tags alone. The column "paper" has the figures that Shi et al. report for their own
implementation, regions and features. The last methods of a table are strongly supervised: by boxes (`ssvm`) or by
masks (`supervised`).

The settings of `tagsight` and of the preset `ws-mrf-sibp` were chosen on training photos, by their tags, boxes and, for
outlines, masks. The other methods choose penalties and scales by cross-validation in each fit, and `activation` its
threshold by masks of training photos. No value was chosen on test photos. With `deep-small` features, outlines with 64
attributes were evaluated on them six times during development, LabelMe Outdoor twice ([how the settings were
chosen](explanation/default.md#how-the-settings-were-chosen)). With `deep` features every cell was measured once, and no
setting was changed afterwards; the starter model, the default with seed 0, was measured on the same photos.

Features are projected to 256 dimensions (MIML 128, w-LDA 64). The photo classifier of `tagsight` uses all 2,224
dimensions of `deep-small`.
"""

DEEP_SMALL = """`deep` features are those of EfficientNet-Lite2, `deep-small` those of EfficientNet-Lite0. Both networks
were trained on ImageNet with labels. The settings of `tagsight` were chosen with `deep-small`, those of the preset
`ws-mrf-sibp` with `deep`.
"""

PROTOCOLS = """## How it is measured

- **Free annotation, AP@t.** For each test photo, the method names the most probable object and the t most probable
  attributes in the region where the object is most probable. The score is the number of correct attributes divided
  by t, compared with the instance of that class that covers most of the region. It is 0 if the photo has no such
  instance.
- **Given name (GN).** For each class that a photo has, the attributes of the region where the class is most
  probable are compared with the union over the instances of the class. The figure is the mean over attributes of
  the average precision.
- In both, methods that describe objects as wholes are evaluated on the whole object. Only `tagsight` does;
  `by-region`, among the ablations, is `tagsight` evaluated on the region.
- **Given location (GL).** Average precision and area under the ROC curve over all boxes, mean over attributes. 598
  of the 6,355 test boxes have no attribute; they count as negatives, here and in AP@t.
- **Within class.** The boxes of one class, ranked by one attribute as in given location: area under the ROC curve,
  mean over all pairs of a class and an attribute with at least ten boxes with and ten without it. Knowing the class
  alone gives 50%.
- **Queries.** The score of a photo is the maximum over its regions of the product P(object) P(attribute) ... A
  photo is correct if one instance has all words. For all methods, P(object) in a region is the probability that the
  photo has the object, scaled by the region's share, P_o p_jo / max_m p_mo. For w-LDA and WSDC the probability of
  the photo is that of its best region. MAR is the mean over queries of the average recall over all precisions: the
  integral over p of the best recall at a precision of at least p, which equals the interpolated average precision.
  mAP is not interpolated. The pairs are all that match a test photo; the triples are 300 drawn from 1,394
  (`benchmarks/queries`).
- **Segmentation.** Region labels are painted at full size. Void pixels are not counted. IoU is computed from the
  pixels of all photos together. The 8 attributes are MATERIALS: the materials that most training photos have. The
  74 attributes include the ten colours that captions name; 91 of the 326 training photos have captions.
- **LabelMe Outdoor.** Pixel accuracy, and mean accuracy over classes. There is no background: a region labelled as
  background gets the class with the highest score. Transductive: the method also learns from the test photos,
  without tags. Predict: the classes of a test photo are restricted to those that a linear SVM on pooled features
  predicts for it.
- Rankings break ties neither for nor against a method. Among attributes with equal scores the first column is
  chosen.
""".replace("MATERIALS", ", ".join(MATERIALS))

LABELME = """The photos are those of LabelMe Outdoor that are part of ADE20K, with ADE20K's labels mapped to the 33
classes. Labels and split differ from the paper's, so the columns cannot be compared directly.
"""

CLASSIC = """Colour SIFT Fisher vectors and a Lab histogram, on our regions. With these features even a classifier
trained on masks is far less accurate than the paper's fully supervised method. A comparison with the paper's
figures therefore compares features as much as methods.
"""

ABLATED_METHODS = (
    (
        "The preset `ws-mrf-sibp` ([what it consists of](explanation/model.md#14-the-preset-ws-mrf-sibp)):\n",
        "ws-mrf-sibp",
        MODEL_ABLATIONS,
    ),
    (
        "The paper's model, preset `additive`. `plain-field` is not centred; its strengths were chosen on three sets "
        "of 326 training photos.\n",
        "additive",
        ADDITIVE_ABLATIONS,
    ),
    (
        "The default of `tagsight train` ([what the parts are](explanation/default.md)):\n",
        "tagsight",
        DEFAULT_ABLATIONS,
    ),
)

PANELS = """## Outlines

![Rendered photos: photo, outlines without and with attributes, fully supervised, ground truth](images/panels.jpg)

Each row is an unseen rendered photo: the photo, our outlines learned without attributes and with all attributes,
fully supervised outlines, and the ground truth. `benchmarks/panels.py` draws them. It can also draw real photos
into a folder of your choice; this project contains no real photos.
"""

FACTORS = """## Factors

![Factors of the rendered collection by their most probable regions](images/factors.jpg)

Factors of the demo's model, each by the training regions where it is most probable
(`benchmarks/factor_picture.py`).
"""

IMAGENET = """## ImageNet Attribute

The collection is not available to us. `tagsight-bench imagenet` measures it if the data folder has
`imagenet_attributes/` with `attrann.mat` and its photos; the tests run it on generated data. Every other photo of a
synset is used for training.
"""


def render_page(cells: Sequence[Cell], quiet: Sequence[Cell], pictures: Container[str]) -> str:
    """The page, with those of its pictures that exist, for the kinds of features that were measured.

    Times are from the cells `quiet`, measured on an otherwise idle machine.
    """
    parts = [HEAD, *_explain_features(cells), _describe_machines(cells), PROTOCOLS]
    for features in _list_features([*cells, *quiet], "apascal"):
        parts += [f"## aPascal, {features} features\n", *([CLASSIC] if features == "classic" else [])]
        parts += [*_render_apascal(Board(cells, "apascal", features))]
        parts += [*render_times(Board(quiet, "apascal", features), ALL)]
        if (curves := f"queries-{features}.svg") in pictures:
            parts.append(f"![Precision over recall, mean over queries](images/{curves})\n")
    for features in _list_features(cells, "labelme"):
        parts += [f"## LabelMe Outdoor (ADE labels), {features} features\n", LABELME]
        parts.append(tabulate(Board(cells, "labelme", features), tuple(METHODS), list_labelme()))
    (n,) = COLLECTIONS["imagenet"].tables["annotation"].attributes
    columns = list_annotation("imagenet", n, paper.IMAGENET)
    parts += [IMAGENET, tabulate(Board(cells, "imagenet", "deep"), tuple(METHODS), columns)]
    parts += [text for name, text in (("panels.jpg", PANELS), ("factors.jpg", FACTORS)) if name in pictures]
    return "\n".join(parts)


def render_digest(cells: Sequence[Cell]) -> str:
    """A few columns of a few methods, with DIGEST_FEATURES."""
    outlined = [column._replace(title=f"mIoU, {column.title}") for column in list_segmentation()]
    columns = [
        *(column for column in outlined if column.attributes in (0, ALL)),
        *list_annotation()[:5],
        *(column for column in list_queries() if column.title.endswith("MAR")),
    ]
    apascal, labelme = (
        tabulate(Board(cells, name, DIGEST_FEATURES), DIGEST, [column._replace(paper=None) for column in chosen])
        for name, chosen in (("apascal", columns), ("labelme", list_labelme()))
    )
    return f"{apascal}\nLabelMe Outdoor, share of pixels and mean over classes:\n\n{labelme}"


def _list_features(cells: Sequence[Cell], collection: str) -> list[str]:
    """The families of features with which a collection was measured."""
    settings = [cell["settings"] for cell in cells]
    measured = {one["features"] for one in settings if one["collection"] == collection}
    return [features for features in FAMILIES if features in measured]


def _explain_features(cells: Sequence[Cell]) -> list[str]:
    measured = {cell["settings"]["features"] for cell in cells}
    return [DEEP_SMALL] if measured & {"deep", "deep-small"} else []


def _describe_machines(cells: Sequence[Cell]) -> str:
    machines = sorted({f"{cell['machine']['cpu']}, {cell['machine']['cores']} cores" for cell in cells})
    return f"Machine: {'; '.join(machines)}.\n" if machines else "Nothing has been run yet.\n"


def _render_apascal(board: Board) -> list[str]:
    methods = tuple(METHODS)
    annotated = list_annotation()
    outlined = list_segmentation()
    of_all = [Column(f"{n} attributes, 2,113 photos", "apascal", "outlines", n, _key("miou")) for n in (0, ALL)]
    objects = [column._replace(pick=_key("object_miou"), paper=None) for column in outlined]
    refined = [
        Column(f"{n} attributes", "apascal", "refined", n, _key("miou"))
        for n in COLLECTIONS["apascal"].tables["refined"].attributes
    ]
    ablated = [column._replace(paper=None) for column in annotated]
    ablated += [column for column in list_queries() if column.title.endswith("MAR")]
    ablated += [column._replace(title="mIoU", paper=None) for column in outlined if column.attributes == ALL]
    parts = [
        "### Annotation\n\nFree annotation (AP@t), given name (GN) and given location (GL).\n",
        tabulate(board, methods, annotated),
        "### Queries\n\nPhotos ranked by an object with one attribute (242 pairs) and with two (300 triples).\n",
        tabulate(board, methods, list_queries()),
        "### Segmentation\n\nMean IoU over 21 classes, by the number of attributes among the tags. 326 photos are used "
        "for training, or 2,113.\n",
        tabulate(board, methods, [*outlined, *of_all]),
        "Mean over the 20 objects, without background:\n",
        tabulate(board, methods, objects),
    ]
    if board.has_run("refined", METHODS):
        parts += [
            "Outlines refined by a dense CRF (`segment --refine`), 21 classes:\n",
            tabulate(board, methods, refined),
        ]
    if any(board.has_run(table, ABLATIONS) for table in ABLATED):
        parts.append(f"### Ablations\n\nA method with one change; mIoU with {ALL} attributes.\n")
    for text, method, ablations in ABLATED_METHODS:
        if any(board.has_run(table, ablations) for table in ABLATED):
            parts += [text, tabulate(board, (method, *ablations), ablated)]
    return parts


def list_annotation(
    collection: str = "apascal", n: int = ALL, figures: Mapping[str, paper.Annotation] = paper.APASCAL
) -> list[Column]:
    """Columns of free annotation, given name and given location, beside the paper's figures."""

    def quote(field: str) -> dict[str, str]:
        return {method: _show(getattr(row, field)) for method, row in figures.items()}

    free = [
        Column(f"AP@{t}", collection, "annotation", n, lambda f, t=t: f["ap_at"][str(t)], quote(f"ap{t}"))
        for t in (2, 5, 8)
    ]
    given = [
        Column(title, collection, "annotation", n, _key(name), quote(field))
        for title, name, field in (
            ("GN mAP", "given_name_map", "given_name"),
            ("GL mAP", "given_location_map", "given_location"),
            ("GL AUC", "given_location_auc", "auc"),
        )
    ]
    within = Column("within class, AUC", collection, "annotation", n, lambda figures: figures.get("within_class_auc"))
    return [*free, *given, within]


def list_queries() -> list[Column]:
    """Columns of both kinds of queries."""
    return [
        Column(f"{kind}, {title}", "apascal", "queries", ALL, lambda f, k=kind, m=name: f[k][m])
        for kind in ("pairs", "triples")
        for title, name in (("MAR", "mar"), ("mAP", "map"))
    ]


def list_segmentation() -> list[Column]:
    """One column per attribute set."""
    return [
        Column(
            f"{n} attributes",
            "apascal",
            "segmentation",
            n,
            _key("miou"),
            {method: _show(figures.get(n)) for method, figures in paper.MIOU.items()},
        )
        for n in COLLECTIONS["apascal"].tables["segmentation"].attributes
    ]


def list_labelme() -> list[Column]:
    """Columns of the three tasks of LabelMe Outdoor."""
    return [
        Column(
            f"{table}, per {unit}",
            "labelme",
            table,
            0,
            _key(f"{unit}_accuracy"),
            {method: _show(pairs[table][place]) for method, pairs in paper.LABELME.items() if table in pairs},
        )
        for table in ("inductive", "transductive", "predict")
        for place, unit in enumerate(("pixel", "class"))
    ]


def _key(name: str) -> Pick:
    return lambda figures: figures[name]


def _show(value: float | None) -> str:
    return "" if value is None else f"{value}"
