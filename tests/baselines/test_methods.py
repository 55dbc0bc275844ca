"""The equations of each baseline."""

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
from tagsight_bench.baselines.activation import ClassActivation, choose_threshold
from tagsight_bench.baselines.region_vectors import compute_region_miou, fit_projection, label_regions, stack_bags
from tests.baselines.planted import draw_world

WORLD = draw_world(12, seed=4)
PROJECTION = fit_projection(WORLD.photos, seed=0, length=6)
BAGS = stack_bags(WORLD.photos, PROJECTION)


def test_class_activation_describes_a_box_of_one_region_as_that_region():
    method = ClassActivation().fit(WORLD.photos, WORLD.tags)
    photo = WORLD.photos[0]
    whole = method.describe_boxes(photo, np.array([[0, 0, *photo.size]]))[0]
    regions = method.predict([photo])[0].attributes
    assert (whole < regions.max(axis=0)).all()
    assert_allclose(method.describe_boxes(photo, np.array([[0, 0, 10, 10]]))[0], regions[0], atol=1e-4)


def test_the_threshold_of_class_activation_maximises_the_miou():
    scores = np.array([[0.1, 4.0], [3.0, 0.2], [2.0, 0.3], [0.4, 2.5], [0.0, -1.0]])
    truth, area = np.array([2, 1, 0, 2, 0]), np.array([0.3, 0.2, 0.2, 0.1, 0.2])
    # above 2.0 all are right; a lower threshold labels the third as object 1, a higher one misses the fourth
    assert 2.0 <= choose_threshold(scores, truth, area) < 2.5
    # labelling the third is right where it is object 1
    assert 0.0 <= choose_threshold(scores, np.array([2, 1, 1, 2, 0]), area) < 2.0


def test_masks_change_the_threshold_and_labels_but_not_log_odds():
    world, new = draw_world(40, seed=5), draw_world(5, seed=6).photos
    plain = ClassActivation().fit(world.photos, world.tags)
    background = np.zeros_like(world.masks[0])
    empty = ClassActivation([background] * 20 + [None] * 20).fit(world.photos, world.tags)
    assert any(one.labels.any() for one in plain.predict(new))
    assert not any(one.labels.any() for one in empty.predict(new))
    for one, other in zip(plain.predict(new), empty.predict(new), strict=True):
        assert_array_equal(one.objects, other.objects)
        assert_array_equal(one.photo, other.photo)


def test_the_region_miou_is_weighted_by_area():
    truth, found, area = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.5, 0.2, 0.3])
    assert compute_region_miou(truth, found, area, 3) == pytest.approx((0.5 / 0.7 + 0.3 / 0.5) / 2)


def test_each_boosting_round_minimises_the_exponential_loss():
    rng = np.random.default_rng(3)
    margin, log_weight = rng.uniform(-0.6, 1, (30, 4)), rng.normal(size=(30, 4))
    found = miml.minimise_exponential(margin, log_weight)
    for k in range(4):
        loss = minimize_scalar(
            lambda c, k=k: np.sum(np.exp(log_weight[:, k] - margin[:, k] * c)),
            bounds=(0, miml.MAX_COEFFICIENT),
            method="bounded",
        )
        assert found[k] == pytest.approx(loss.x, abs=1e-3)


def test_photo_scores_are_means_of_region_scores_and_boosting_lowers_the_loss():
    """Scores of photos from the shares above thresholds equal the means of region scores."""
    thresholds = np.quantile(BAGS.X, np.arange(1, 4) / 4, axis=0).T.astype(np.float32)
    above = miml.compute_share_above(BAGS, thresholds)
    truth = WORLD.tags.objects
    sign = np.where(truth > 0, 1, -1)
    losses = []
    for rounds in (1, 5, 20):
        ensemble = miml.boost(above, truth, thresholds, rounds)
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


def test_the_m_step_of_topics_maximises_the_bound():
    phi = np.random.default_rng(1).dirichlet(np.ones(3), len(BAGS.X))
    topics = wlda.update_topics(phi, BAGS.X)
    for k in range(3):
        mean = (phi[:, k, None] * BAGS.X).sum(axis=0) / (phi[:, k].sum() + wlda.STRENGTH)
        assert_allclose(topics.means[k], mean, atol=1e-5)
    spread = sum(phi[:, k] @ (BAGS.X - topics.means[k]) ** 2 + wlda.STRENGTH * topics.means[k] ** 2 for k in range(3))
    assert_allclose(topics.variance, spread / (len(BAGS.X) + 3), rtol=1e-3)


def test_log_odds_of_topics_are_within_their_kind_and_the_free_topics():
    log_phi = np.log(np.array([[0.1, 0.2, 0.3, 0.4]]))
    kinds = np.array([0, 0, 1, 2])
    assert_allclose(wlda.compute_log_odds(log_phi, kinds, 0), np.log([[0.1 / 0.6, 0.2 / 0.5]]), atol=1e-9)
    assert_allclose(wlda.compute_log_odds(log_phi, kinds, 1), np.log([[0.3 / 0.4]]), atol=1e-9)


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_dual_clustering_objective_never_rises(exclusive: bool):
    graph = wsdc.build_region_graph(WORLD.photos, BAGS)
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


def test_dual_clustering_steps_follow_the_gradient_of_the_objective():
    """A step from F moves against the numeric gradient of the objective."""
    graph = wsdc.build_region_graph(WORLD.photos, BAGS)
    tagged = WORLD.tags.objects > 0
    problem = wsdc.Problem(BAGS, graph, tagged, tagged, False)
    F = np.where(tagged[BAGS.groups], np.random.default_rng(0).uniform(0.3, 0.6, (len(BAGS.X), 4)), 0)
    W = wsdc.make_ridge_solver(BAGS.X, 1.0)(F.astype(np.float32))
    moved = wsdc.update_indicators(problem, W.score(BAGS.X), F, tagged[BAGS.groups])
    entries = np.argwhere(tagged[BAGS.groups])[::37]
    assert len(entries) > 5
    for j, k in entries:
        up, down = F.copy(), F.copy()
        up[j, k] += 1e-4
        down[j, k] -= 1e-4
        slope = (wsdc.compute_objective(problem, W, up) - wsdc.compute_objective(problem, W, down)) / 2e-4
        assert np.sign(moved[j, k] - F[j, k]) == -np.sign(slope)
        strongest = wsdc.find_best_regions(problem, F)[BAGS.groups[j]] == j
        bend = 1 + 2 * graph.sum(axis=1)[j] + wsdc.TAGS * bool((strongest & tagged[BAGS.groups[j]]).any())
        assert moved[j, k] == pytest.approx(np.clip(F[j, k] - slope / bend, 0, 1), abs=1e-3)


def test_ridge_regression_satisfies_the_normal_equations():
    F = np.random.default_rng(2).random((len(BAGS.X), 2)).astype(np.float32)
    X = BAGS.X + np.float32(0.5)
    W = wsdc.make_ridge_solver(X, 3.0)(F)
    residual = W.score(X) - F
    assert_allclose(X.T @ residual + 3.0 * W.weights, 0, atol=1e-3)
    assert_allclose(residual.sum(axis=0), 0, atol=1e-3)


def test_projection_to_the_simplex_matches_known_points():
    points = np.array([[0.2, 0.3, 0.5], [2, 0, 0], [0.5, 0.5, -np.inf], [-1, -2, -np.inf], [0, 0, 0]])
    expected = [[0.2, 0.3, 0.5], [1, 0, 0], [0.5, 0.5, 0], [1, 0, 0], [1 / 3] * 3]
    assert_allclose(wsdc.project_simplex(points), expected, atol=1e-12)


def test_the_background_vector_is_the_mean_outside_all_boxes():
    photo, own = WORLD.photos[0], WORLD.instances[0]
    (found,) = ssvm.pool_background(photo, own.boxes, PROJECTION)
    x = stack_bags([photo], PROJECTION).X
    assert_allclose(found, x[WORLD.labels[0] == 0].mean(axis=0), atol=1e-5)
    assert len(ssvm.pool_background(photo, np.array([[0, 0, *photo.size]]), PROJECTION)) == 0


def test_box_svms_have_a_separate_scaling_for_photos():
    """The best of many regions scores higher than a box."""
    known, unseen = draw_world(60, seed=7), draw_world(60, seed=8)
    for world in (known, unseen):
        rng = np.random.default_rng(9)
        world.photos[:] = [
            photo._replace(features=photo.features + rng.normal(0, 2, photo.features.shape)) for photo in world.photos
        ]
    predictions = ssvm.BoxSVM(known.instances).fit(known.photos, known.tags).predict(unseen.photos)
    truth = unseen.tags.objects.ravel()

    def lose(odds: list[Floats]) -> float:
        return float(np.mean(np.logaddexp(0, -np.concatenate(odds) * (2.0 * truth - 1))))

    assert lose([one.photo for one in predictions]) < lose([one.objects.max(axis=0) for one in predictions]) - 0.1


def test_regions_take_the_most_frequent_label_of_their_pixels():
    photo, mask = WORLD.photos[0], WORLD.masks[0].copy()
    mask[:10, :10] = VOID
    mask[0, 10:14] = 3
    found = label_regions(photo, mask, 5)
    assert found[0] == VOID
    assert_array_equal(found[1:], WORLD.labels[0][1:])


def test_log_odds_match_the_softmax_probabilities():
    scores = np.array([[1.0, 2.0, -1.0]])
    p = np.exp(scores) / np.exp(scores).sum()
    assert_allclose(supervised.to_log_odds(scores), np.log(p / (1 - p)))


def test_region_weights_are_area_times_a_power_of_the_label_share():
    weight = compute_region_weights(np.array([0, 0, 2, 0]), np.array([0.4, 0.3, 0.1, 0.2]), 0.5)
    assert_allclose(weight / weight[1], [4 / 3, 1, 1 / 3 * (0.9 / 0.1) ** 0.5, 2 / 3])


@pytest.mark.parametrize("labels", [(0, 2), (0, 1, 2)])
def test_the_softmax_classifier_matches_scikit_learn(labels: tuple[int, ...]):
    from sklearn.linear_model import LogisticRegression

    y = np.resize(labels, len(BAGS.X))
    weight = np.random.default_rng(0).random(len(y))
    linear = supervised.fit_softmax_classifier(BAGS.X, y, weight, 4, 1.0)
    scores = linear.score(BAGS.X)
    p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    expected = LogisticRegression(C=1.0, max_iter=supervised.MAX_ITER).fit(BAGS.X, y, sample_weight=weight)
    assert_allclose(p[:, list(labels)], expected.predict_proba(BAGS.X), atol=1e-6)
    assert p[:, 3].max() < 1e-30
