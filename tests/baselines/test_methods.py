"""What each rival's mathematics promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import digamma, logsumexp
from scipy.stats import norm

from tagsight.classifiers.fit import compute_region_weights
from tagsight.demo.mask_measures import VOID
from tagsight.types import Floats
from tagsight_bench.baselines import miml, ssvm, supervised, wlda, wsdc
from tagsight_bench.baselines.activation import ClassActivation, choose_cut
from tagsight_bench.baselines.pooled import learn_space, stack_bags
from tagsight_bench.baselines.region_truth import label_regions, overlap_regions
from tests.baselines.planted import draw_world

WORLD = draw_world(12, seed=4)
SPACE = learn_space(WORLD.photos, seed=0, length=6)
BAGS = stack_bags(WORLD.photos, SPACE)


def test_a_box_around_the_photo_is_described_as_the_photo_and_a_plain_box_as_its_region():
    method = ClassActivation().fit(WORLD.photos, WORLD.tags)
    photo = WORLD.photos[0]
    whole = method.describe_boxes(photo, np.array([[0, 0, *photo.size]]))[0]
    regions = method.predict([photo])[0].attributes
    assert (whole < regions.max(axis=0)).all()
    assert_allclose(method.describe_boxes(photo, np.array([[0, 0, 10, 10]]))[0], regions[0], atol=1e-4)


def test_masks_choose_the_threshold_of_class_activation():
    scores = np.array([[0.1, 4.0], [3.0, 0.2], [2.0, 0.3], [0.4, 2.5], [0.0, -1.0]])
    truth, area = np.array([2, 1, 0, 2, 0]), np.array([0.3, 0.2, 0.2, 0.1, 0.2])
    # above 2.0 all are right; any lower cut takes the third for object 1, any higher one loses the fourth
    assert 2.0 <= choose_cut(scores, truth, area) < 2.5
    # the third is worth taking where it is object 1
    assert 0.0 <= choose_cut(scores, np.array([2, 1, 1, 2, 0]), area) < 2.0


def test_the_threshold_is_chosen_where_masks_are_and_moves_outlines_alone():
    world, new = draw_world(40, seed=5), draw_world(5, seed=6).photos
    plain = ClassActivation().fit(world.photos, world.tags)
    nothing = np.zeros_like(world.masks[0])
    empty = ClassActivation([nothing] * 20 + [None] * 20).fit(world.photos, world.tags)
    assert any(one.outline.any() for one in plain.predict(new))
    assert not any(one.outline.any() for one in empty.predict(new))
    for one, other in zip(plain.predict(new), empty.predict(new), strict=True):
        assert_array_equal(one.objects, other.objects)
        assert_array_equal(one.photo, other.photo)


def test_overlap_counts_regions_by_area():
    truth, found, area = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.5, 0.2, 0.3])
    assert overlap_regions(truth, found, area, 3) == pytest.approx((0.5 / 0.7 + 0.3 / 0.5) / 2)


def test_boosting_minimises_the_exponential_loss_of_each_round():
    rng = np.random.default_rng(3)
    margin, log_weight = rng.uniform(-0.6, 1, (30, 4)), rng.normal(size=(30, 4))
    found = miml.minimise_exponential(margin, log_weight)
    for k in range(4):
        loss = minimize_scalar(
            lambda c, k=k: np.sum(np.exp(log_weight[:, k] - margin[:, k] * c)),
            bounds=(0, miml.LARGEST),
            method="bounded",
        )
        assert found[k] == pytest.approx(loss.x, abs=1e-3)


def test_the_stumps_summed_up_are_the_stumps():
    """Scores of photos from shares above cuts are means of the scores of regions, and the loss falls."""
    cuts = np.quantile(BAGS.X, np.arange(1, 4) / 4, axis=0).T.astype(np.float32)
    above = miml.share_above(BAGS, cuts)
    truth = WORLD.tags.objects
    sign = np.where(truth > 0, 1, -1)
    losses = []
    for rounds in (1, 5, 20):
        ensemble = miml.boost(above, truth, cuts, rounds)
        photos = np.array([own.mean(axis=0) for own in np.split(ensemble.score(BAGS.X), BAGS.first[1:-1])])
        assert_allclose(above @ ensemble.sides + ensemble.base, photos, atol=1e-4)
        losses.append(np.exp(-sign * photos).sum(axis=0))
    assert (losses[0] <= len(truth)).all()
    assert (losses[1] < losses[0]).all()
    assert (losses[2] < losses[1]).all()


def test_topics_follow_the_update_equations():
    topics = wlda.Topics(np.random.default_rng(0).normal(size=(4, 6)), np.linspace(0.5, 1, 6))
    allowed = np.ones((12, 4), bool)
    allowed[:6, 1] = False
    log_phi, gamma = wlda.infer_topics(topics, BAGS, allowed)
    expected = np.full((12, 4), 24.0 / allowed.sum(axis=1, keepdims=True)) + wlda.ALPHA
    phi = np.zeros((len(BAGS.X), 4))
    for _ in range(wlda.INNER):
        for j, i in enumerate(BAGS.groups):
            log = np.array([norm.logpdf(BAGS.X[j], m, np.sqrt(topics.variance)).sum() for m in topics.means])
            log = np.where(allowed[i], log + digamma(expected[i]), -np.inf)
            phi[j] = np.exp(log - logsumexp(log))
        expected = wlda.ALPHA + np.array([phi[BAGS.groups == i].sum(axis=0) for i in range(12)])
    assert_allclose(np.exp(log_phi), phi, atol=1e-4)
    assert_allclose(gamma, expected, atol=1e-3)
    assert (phi[BAGS.groups < 6, 1] == 0).all()


def test_topics_are_improved_to_the_stated_maximum():
    phi = np.random.default_rng(1).dirichlet(np.ones(3), len(BAGS.X))
    topics = wlda.improve_topics(phi, BAGS.X)
    for k in range(3):
        mean = (phi[:, k, None] * BAGS.X).sum(axis=0) / (phi[:, k].sum() + wlda.STRENGTH)
        assert_allclose(topics.means[k], mean, atol=1e-5)
    spread = sum(phi[:, k] @ (BAGS.X - topics.means[k]) ** 2 + wlda.STRENGTH * topics.means[k] ** 2 for k in range(3))
    assert_allclose(topics.variance, spread / (len(BAGS.X) + 3), rtol=1e-3)


def test_log_odds_among_topics():
    log_phi = np.log(np.array([[0.1, 0.2, 0.3, 0.4]]))
    kinds = np.array([0, 0, 1, 2])
    assert_allclose(wlda.rival_log_odds(log_phi, kinds, 0), np.log([[0.1 / 0.6, 0.2 / 0.5]]), atol=1e-9)
    assert_allclose(wlda.rival_log_odds(log_phi, kinds, 1), np.log([[0.3 / 0.4]]), atol=1e-9)


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_dual_clustering_objective_never_rises(exclusive: bool):
    graph = wsdc.join_regions(WORLD.photos, BAGS)
    tagged = WORLD.tags.objects > 0
    anywhere = np.ones((12, 1), bool)
    allowed = np.hstack([anywhere, tagged]) if exclusive else tagged
    problem = wsdc.Problem(BAGS, graph, allowed, np.hstack([~anywhere, tagged]) if exclusive else tagged, exclusive)
    found = wsdc.cluster(problem, 25)
    assert (np.diff(found.objective) <= 1e-6 * found.objective[0]).all()
    assert found.objective[-1] < 0.8 * found.objective[0]
    assert (found.F[~allowed[BAGS.groups]] == 0).all()
    assert found.F.min() >= 0
    if exclusive:
        assert_allclose(found.F.sum(axis=1), 1, atol=1e-5)


def test_the_slope_of_the_dual_clustering_is_that_of_its_objective():
    """A step from F moves against the numeric gradient of the objective."""
    graph = wsdc.join_regions(WORLD.photos, BAGS)
    tagged = WORLD.tags.objects > 0
    problem = wsdc.Problem(BAGS, graph, tagged, tagged, False)
    F = np.where(tagged[BAGS.groups], np.random.default_rng(0).uniform(0.3, 0.6, (len(BAGS.X), 4)), 0)
    W = wsdc.prepare_ridge(BAGS.X, 1.0)(F.astype(np.float32))
    moved = wsdc.improve_indicators(problem, W.score(BAGS.X), F, tagged[BAGS.groups])
    for j, k in np.argwhere(tagged[BAGS.groups])[::37]:
        up, down = F.copy(), F.copy()
        up[j, k] += 1e-4
        down[j, k] -= 1e-4
        slope = (wsdc.measure_objective(problem, W, up) - wsdc.measure_objective(problem, W, down)) / 2e-4
        assert np.sign(moved[j, k] - F[j, k]) == -np.sign(slope)
        strongest = wsdc.strongest_regions(problem, F)[BAGS.groups[j]] == j
        bend = 1 + 2 * graph.sum(axis=1)[j] + wsdc.TAGS * bool((strongest & tagged[BAGS.groups[j]]).any())
        assert moved[j, k] == pytest.approx(np.clip(F[j, k] - slope / bend, 0, 1), abs=1e-3)


def test_ridge_regression_is_solved():
    F = np.random.default_rng(2).random((len(BAGS.X), 2)).astype(np.float32)
    X = BAGS.X + np.float32(0.5)
    W = wsdc.prepare_ridge(X, 3.0)(F)
    slack = W.score(X) - F
    assert_allclose(X.T @ slack + 3.0 * W.weights, 0, atol=1e-3)
    assert_allclose(slack.sum(axis=0), 0, atol=1e-3)


def test_nearest_points_of_the_simplex():
    points = np.array([[0.2, 0.3, 0.5], [2, 0, 0], [0.5, 0.5, -np.inf], [-1, -2, -np.inf], [0, 0, 0]])
    expected = [[0.2, 0.3, 0.5], [1, 0, 0], [0.5, 0.5, 0], [1, 0, 0], [1 / 3] * 3]
    assert_allclose(wsdc.project_simplex(points), expected, atol=1e-12)


def test_background_is_what_no_box_covers():
    photo, own = WORLD.photos[0], WORLD.instances[0]
    (found,) = ssvm.pool_background(photo, own.boxes, SPACE)
    x = stack_bags([photo], SPACE).X
    assert_allclose(found, x[WORLD.labels[0] == 0].mean(axis=0), atol=1e-5)
    assert len(ssvm.pool_background(photo, np.array([[0, 0, *photo.size]]), SPACE)) == 0


def test_photos_have_a_scale_of_their_own_in_the_box_machines():
    """The strongest of many regions is stronger than a box."""
    known, unseen = draw_world(60, seed=7), draw_world(60, seed=8)
    for world in (known, unseen):
        rng = np.random.default_rng(9)
        world.photos[:] = [
            photo._replace(features=photo.features + rng.normal(0, 2, photo.features.shape)) for photo in world.photos
        ]
    seen = ssvm.BoxSVM(known.instances).fit(known.photos, known.tags).predict(unseen.photos)
    truth = unseen.tags.objects.ravel()

    def lose(odds: list[Floats]) -> float:
        return float(np.mean(np.logaddexp(0, -np.concatenate(odds) * (2.0 * truth - 1))))

    assert lose([one.photo for one in seen]) < lose([one.objects.max(axis=0) for one in seen]) - 0.1


def test_regions_take_the_label_of_most_of_their_pixels():
    photo, mask = WORLD.photos[0], WORLD.masks[0].copy()
    mask[:10, :10] = VOID
    mask[0, 10:14] = 3
    found = label_regions(photo, mask, 5)
    assert found[0] == VOID
    assert_array_equal(found[1:], WORLD.labels[0][1:])


def test_log_odds_of_a_softmax():
    scores = np.array([[1.0, 2.0, -1.0]])
    p = np.exp(scores) / np.exp(scores).sum()
    assert_allclose(supervised.to_log_odds(scores), np.log(p / (1 - p)))


def test_rare_labels_weigh_more_than_their_area_and_less_than_common_ones_together():
    weight = compute_region_weights(np.array([0, 0, 2, 0]), np.array([0.4, 0.3, 0.1, 0.2]), 0.5)
    assert_allclose(weight / weight[1], [4 / 3, 1, 1 / 3 * (0.9 / 0.1) ** 0.5, 2 / 3])


@pytest.mark.parametrize("labels", [(0, 2), (0, 1, 2)])
def test_the_softmax_is_scikit_learn_s_also_for_two_labels(labels: tuple[int, ...]):
    from sklearn.linear_model import LogisticRegression

    y = np.resize(labels, len(BAGS.X))
    weight = np.random.default_rng(0).random(len(y))
    linear = supervised.train_softmax(BAGS.X, y, weight, 4, 1.0)
    scores = linear.score(BAGS.X)
    p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    machine = LogisticRegression(C=1.0, max_iter=supervised.STEPS).fit(BAGS.X, y, sample_weight=weight)
    assert_allclose(p[:, list(labels)], machine.predict_proba(BAGS.X), atol=1e-6)
    assert p[:, 3].max() < 1e-30
