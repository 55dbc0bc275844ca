"""From described photos and their tags to something that looks: model, readers, calibration."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tagsight.calibration import UNCALIBRATED, Calibration, fit_calibration
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import Learned, NewPhotos, infer_photos
from tagsight.estimator import StackedIBP
from tagsight.features.codebook import Projection, learn_projection
from tagsight.features.described import DescribedPhoto
from tagsight.features.views import Views, learn_views, see_directions
from tagsight.progress import Report, stay_silent
from tagsight.readout.learn import Readout, learn_readout
from tagsight.readout.read import read_regions
from tagsight.readout.regions import Regions
from tagsight.trained import Stacked, stack_photos
from tagsight.types import Array, Ints

LENGTH = 256  # of a region's vector after projection
SAMPLE = 20_000  # regions that views and projection are learned from
HELD_OUT = 0.2  # of the photos, to calibrate on
FEWEST_TO_HOLD_OUT = 50  # photos below which nothing is held out


class FitOptions(NamedTuple):
    """What may be chosen about the fit."""

    n_free: int = 20
    coupling: float = 1.0
    affinity: float = 1.0
    readout: bool = True  # False: the model's posterior alone
    device: str = "cpu"  # where the model sweeps; see StackedIBP
    seed: int = 0


class Fitted(NamedTuple):
    """What looks (see `trained.Sight`), and what the model says of the training regions."""

    views: Views
    projection: Projection
    learned: Learned
    readout: Readout | None
    objects: Calibration
    attributes: Calibration
    log_odds: Array  # (N, K) under the photos' tags
    bound: tuple[float, ...]  # after each sweep


class _Taught(NamedTuple):
    learned: Learned
    readout: Readout | None
    log_odds: Array
    bound: tuple[float, ...]


def fit_photos(
    photos: Sequence[DescribedPhoto],
    tags: Tags,
    options: FitOptions | None = None,
    report: Report = stay_silent,
) -> Fitted:
    """Fit model and readers to photos; first to most of them, to calibrate on the others."""
    options = options or FitOptions()
    # BLAS adds in another order with other threads, and a fit takes small differences far.
    with threadpool_limits(1, user_api="blas"):
        return _fit_photos(photos, tags, options, report)


def _fit_photos(photos: Sequence[DescribedPhoto], tags: Tags, options: FitOptions, report: Report) -> Fitted:
    views, projection = _learn_space(photos, options.seed)
    bias, objects, attributes = 0.0, UNCALIBRATED, UNCALIBRATED
    if len(photos) >= FEWEST_TO_HOLD_OUT:
        held_out = np.random.default_rng(options.seed).random(len(photos)) < HELD_OUT
        taught = _teach(*_choose(photos, tags, ~held_out), views, projection, options, report, "calibrating")
        bias, objects, attributes = _calibrate(*_choose(photos, tags, held_out), views, projection, taught)
    taught = _teach(photos, tags, views, projection, options, report, "learning")
    readout = taught.readout and taught.readout._replace(bias=bias)
    return Fitted(views, projection, taught.learned, readout, objects, attributes, taught.log_odds, taught.bound)


def _learn_space(photos: Sequence[DescribedPhoto], seed: int) -> tuple[Views, Projection]:
    """Views and principal components of a seeded sample of regions, evenly from all photos."""
    rng = np.random.default_rng(seed)
    share = min(1.0, SAMPLE / sum(len(photo.features) for photo in photos))
    sample = np.concatenate([photo.features[rng.random(len(photo.features)) < share] for photo in photos])
    views = learn_views(photos[0].blocks, sample)
    return views, learn_projection(see_directions(sample, views), min(LENGTH, sample.shape[1]))


def _choose(photos: Sequence[DescribedPhoto], tags: Tags, chosen: Array) -> tuple[list[DescribedPhoto], Tags]:
    return [photo for photo, mine in zip(photos, chosen, strict=True) if mine], Tags(
        tags.objects[chosen], tags.attributes[chosen]
    )


def _teach(
    photos: Sequence[DescribedPhoto],
    tags: Tags,
    views: Views,
    projection: Projection,
    options: FitOptions,
    report: Report,
    stage: str,
) -> _Taught:
    """The model, its log-odds in the photos it learned from, and the readers taught by a model of objects alone.

    With attributes to explain what objects look like, objects are switched off where the attributes suffice, and are
    located worse; so the readers learn from a model that has none.
    """
    stacked = stack_photos(photos, views, projection)
    model, log_odds = _fit_model(stacked, np.hstack(tags), tags.attributes.shape[1], options, report, stage)
    readout = None
    if options.readout:
        located = log_odds
        if tags.attributes.shape[1]:
            _, located = _fit_model(stacked, tags.objects, 0, options, report, f"{stage} where objects are")
        regions = Regions(photos, views, stacked.X)
        readout = learn_readout(regions, tags, located[:, : tags.objects.shape[1]])
    learned: Learned = model._learned
    return _Taught(learned, readout, log_odds, tuple(model.bound_))


def _fit_model(
    stacked: Stacked, tags: Array, n_attributes: int, options: FitOptions, report: Report, stage: str
) -> tuple[StackedIBP, Array]:
    """A fitted model, and its log-odds (N, K) of the regions under the tags."""
    model = StackedIBP(
        tags.shape[1] - n_attributes,
        n_attributes,
        options.n_free,
        coupling=options.coupling,
        affinity=options.affinity,
        device=options.device,
        seed=options.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the report shows the bound's curve
        model.fit(
            stacked.X,
            tags,
            groups=stacked.groups,
            edges=stacked.edges.pairs,
            edge_weights=stacked.edges.weight,
            on_sweep=lambda sweep: report(stage, sweep.number, model.max_sweeps),
        )
    allowed = np.hstack([tags, np.ones((len(tags), options.n_free), np.uint8)])
    return model, infer_photos(model._learned, NewPhotos(*stacked, allowed)).log_odds


def _calibrate(
    photos: Sequence[DescribedPhoto],
    tags: Tags,
    views: Views,
    projection: Projection,
    taught: _Taught,
) -> tuple[float, Calibration, Calibration]:
    """Compare what is said of photos held out with their tags.

    The bias of the background is such that as many regions are background, tags unknown, as in the located objects
    that taught the reader.
    """
    stacked = stack_photos(photos, views, projection)
    bias = 0.0
    somewhere = np.ones(len(stacked.X), bool)  # attributes are of objects: not asked of the background
    if taught.readout:
        regions = Regions(photos, views, stacked.X)
        bias = float(np.quantile(read_regions(regions, taught.readout).margin, taught.readout.background))
        reading = read_regions(regions, taught.readout._replace(bias=bias))
        objects, attributes, somewhere = reading.objects, reading.attributes, reading.margin > 0
    else:
        factors = taught.learned.settings.factors
        allowed = np.ones((len(photos), factors.total), np.uint8)
        log_odds = infer_photos(taught.learned, NewPhotos(*stacked, allowed)).log_odds
        objects, attributes, _ = np.hsplit(log_odds, [factors.objects, factors.tagged])
    return (
        bias,
        _compare(objects, stacked.groups, tags.objects),
        _compare(attributes[somewhere], stacked.groups[somewhere], tags.attributes),
    )


def _compare(log_odds: Array, groups: Ints, tags: Array) -> Calibration:
    """Calibrate the strongest log-odds of each photo that has any."""
    strongest = np.full(tags.shape, -np.inf)
    np.maximum.at(strongest, groups, log_odds)
    asked = np.unique(groups)
    return fit_calibration(strongest[asked].ravel(), tags[asked].ravel())
