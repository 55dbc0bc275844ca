"""The estimator: accepted input, refused input with its message, and properties of the results."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tagsight import InputError, StackedIBP
from tagsight.model.planted import Planted
from tagsight.model.settings import PRESETS
from tagsight.types import Floats

from .conftest import N_ATTRIBUTES, N_FREE, N_OBJECTS

K = N_OBJECTS + N_ATTRIBUTES + N_FREE


def make(**parameters: object) -> StackedIBP:
    return StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, **parameters)  # pyright: ignore[reportArgumentType]


def fitted(data: Planted, **parameters: object) -> StackedIBP:
    return make(**parameters).fit(data.X, data.tags, groups=data.groups, edges=data.edges)


def test_fit_sets_the_documented_attributes(small: Planted) -> None:
    model = fitted(small)
    N, D = small.X.shape
    assert model.assign_.shape == (N, K)
    assert model.prior_.shape == (len(small.tags), K)
    assert model.appearance_mean_.shape == (K, D)
    assert model.affinity_.shape == (K, K)
    assert_array_equal(np.diag(model.affinity_), 0)
    assert np.abs(model.affinity_).max() <= 1
    assert len(model.bound_) == model.n_sweeps_ == len(model.bound_terms_)
    assert_allclose(model.bound_, [sum(terms) for terms in model.bound_terms_])
    assert model.converged_
    assert len(model.sparsity_) == 3
    assert model.free_usage_.regions.shape == (N_FREE,)


def test_probabilities_lie_between_0_and_1_and_are_0_where_no_tag_allows(small: Planted) -> None:
    model = fitted(small)
    assert model.assign_.min() >= 0
    assert model.assign_.max() <= 1
    forbidden = small.tags[small.groups] == 0
    assert_array_equal(model.assign_[:, : K - N_FREE][forbidden], 0.0)
    assert_array_equal(model.prior_[:, : K - N_FREE][small.tags == 0], 0.0)


def test_float32_and_float64_agree(small: Planted) -> None:
    double = fitted(small)
    single = make().fit(small.X.astype(np.float32), small.tags, groups=small.groups, edges=small.edges)
    assert single.assign_.dtype == np.float32
    assert_allclose(single.assign_, double.assign_, atol=0.02)


def test_the_same_seed_gives_the_same_result_and_another_seed_another_start(small: Planted) -> None:
    first, again, other = fitted(small, seed=3), fitted(small, seed=3), fitted(small, seed=4)
    assert_array_equal(first.assign_, again.assign_)
    assert first.bound_ == again.bound_
    assert first.bound_[0] != other.bound_[0]


def test_regions_and_photos_may_come_in_any_order(small: Planted) -> None:
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(small.X))
    place = np.argsort(rows)
    photos = rng.permutation(len(small.tags))
    model = fitted(small, coupling=0.0)
    moved = make(coupling=0.0).fit(
        small.X[rows],
        small.tags[photos],
        groups=np.argsort(photos)[small.groups[rows]],
        edges=place[small.edges],
    )
    assert_allclose(moved.assign_, model.assign_[rows], atol=1e-6)
    assert_allclose(moved.bound_[-1], model.bound_[-1], rtol=1e-9)


def test_a_photo_without_tags_has_only_free_factors_and_one_region_is_enough(small: Planted) -> None:
    tags = small.tags.copy()
    tags[0] = 0
    keep = np.flatnonzero((small.groups != 1) | (np.arange(len(small.groups)) == 6))
    edges = np.zeros((0, 2), int)
    model = make().fit(small.X[keep], tags, groups=small.groups[keep], edges=edges)
    assert_array_equal(model.assign_[small.groups[keep] == 0, : K - N_FREE], 0)
    assert np.isfinite(model.assign_).all()


def test_reaching_the_limit_first_is_a_warning(small: Planted) -> None:
    with pytest.warns(ConvergenceWarning, match="max_sweeps=2"):
        model = fitted(small, max_sweeps=2)
    assert not model.converged_
    assert model.n_sweeps_ == 2


def test_on_sweep_is_called_after_every_sweep(small: Planted) -> None:
    found: list[float] = []
    model = make().fit(small.X, small.tags, groups=small.groups, on_sweep=lambda sweep: found.append(sweep.bound.total))
    assert set(model.bound_) <= set(found)


def test_threads_do_not_change_the_result(small: Planted) -> None:
    one, two = fitted(small, n_threads=1), fitted(small, n_threads=2)
    assert_array_equal(one.assign_, two.assign_)


@pytest.mark.slow
def test_memory_mapped_features_give_the_same_result(small: Planted, tmp_path) -> None:
    np.save(tmp_path / "X.npy", small.X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = make().fit(mapped, small.tags, groups=small.groups, edges=small.edges)
    assert_array_equal(model.assign_, fitted(small).assign_)


def test_presets_name_the_papers_models(small: Planted) -> None:
    plain = StackedIBP.from_preset("ws-sibp", n_objects=2)
    assert (plain.coupling, plain.affinity, plain.n_objects) == (0.0, 0.0, 2)
    tied = StackedIBP.from_preset("additive", coupling=3.0)
    assert (tied.coupling, tied.centred) == (3.0, True)
    assert tied.affinity > 0
    with pytest.raises(InputError, match="ws-sibp, additive, got 'sibp'"):
        StackedIBP.from_preset("sibp")
    for name in PRESETS:
        StackedIBP.from_preset(name, n_free=1)


def test_the_spatial_field_makes_neighbours_agree(small: Planted) -> None:
    def disagreement(model: StackedIBP) -> float:
        a, b = model.assign_[small.edges[:, 0]], model.assign_[small.edges[:, 1]]
        return float(np.abs(a - b).sum())

    assert disagreement(fitted(small, coupling=20.0)) < 0.5 * disagreement(fitted(small, coupling=0.0))


def test_edge_weights_scale_the_coupling(small: Planted) -> None:
    weights = np.full(len(small.edges), 3.0)
    heavy = make(coupling=1.0).fit(small.X, small.tags, groups=small.groups, edges=small.edges, edge_weights=weights)
    strong = fitted(small, coupling=3.0)
    assert_allclose(heavy.assign_, strong.assign_, atol=1e-9)


def test_an_edge_given_twice_counts_once(small: Planted) -> None:
    twice = np.concatenate([small.edges, small.edges[:, ::-1]])
    model = make().fit(small.X, small.tags, groups=small.groups, edges=twice)
    assert_array_equal(model.assign_, fitted(small).assign_)


def test_infer_on_the_training_photos_with_their_tags_repeats_training(small: Planted) -> None:
    model = fitted(small, affinity=0.0)
    again = model.infer(small.X, groups=small.groups, edges=small.edges, allowed=small.tags)
    assert np.mean((again.assign > 0.5) == (model.assign_ > 0.5)) > 0.95
    assert again.prior.shape == (len(small.tags), K)


def test_infer_applies_a_mask_of_either_width(small: Planted) -> None:
    model = fitted(small)
    full = np.hstack([small.tags, np.ones((len(small.tags), N_FREE), int)])
    by_tags = model.infer(small.X, groups=small.groups, allowed=small.tags)
    by_factors = model.infer(small.X, groups=small.groups, allowed=full)
    assert_array_equal(by_tags.assign, by_factors.assign)
    full[:, -1] = 0
    without = model.infer(small.X, groups=small.groups, allowed=full)
    assert_array_equal(without.assign[:, -1], 0)


def test_photos_are_inferred_independently(small: Planted) -> None:
    model = fitted(small)
    together = model.infer(small.X, groups=small.groups, edges=small.edges)
    mine = small.groups == 3
    edges = small.edges[small.groups[small.edges[:, 0]] == 3] - np.flatnonzero(mine)[0]
    alone = model.infer(small.X[mine], groups=np.zeros(mine.sum(), int), edges=edges)
    assert_allclose(alone.assign, together.assign[mine], atol=1e-12)
    assert_allclose(alone.prior[0], together.prior[3], atol=1e-12)


def test_transduction_moves_the_appearance_but_not_the_estimator(small: Planted) -> None:
    model = fitted(small)
    before = model.appearance_mean_.copy()
    shifted = model.infer(small.X + 0.3, groups=small.groups, edges=small.edges, transductive=True)
    assert_array_equal(model.appearance_mean_, before)
    assert np.abs(shifted.appearance - before).max() > 0.01
    fixed = model.infer(small.X, groups=small.groups, edges=small.edges)
    assert_array_equal(fixed.appearance, before)


def test_infer_before_fit_is_refused(small: Planted) -> None:
    with pytest.raises(NotFittedError):
        make().infer(small.X)


def spoil(what: str, data: Planted) -> dict[str, np.ndarray]:
    """Arguments of `fit` with one thing wrong."""
    arguments = {
        "X": data.X.copy(),
        "tags": data.tags.astype(int),
        "groups": data.groups.copy(),
        "edges": data.edges.copy(),
        "edge_weights": np.ones(len(data.edges)),
    }
    changes: dict[str, Callable[[], None]] = {
        "nan": lambda: arguments["X"].__setitem__((5, 2), np.nan),
        "inf": lambda: arguments["X"].__setitem__((7, 1), np.inf),
        "tags shape": lambda: arguments.update(tags=arguments["tags"][:, 1:]),
        "tags 2": lambda: arguments["tags"].__setitem__((4, 1), 2),
        "groups shape": lambda: arguments.update(groups=arguments["groups"][1:]),
        "groups range": lambda: arguments["groups"].__setitem__(9, 99),
        "groups negative": lambda: arguments["groups"].__setitem__(9, -1),
        "groups fraction": lambda: arguments.update(groups=arguments["groups"] + 0.5),
        "edges shape": lambda: arguments.update(edges=arguments["edges"].ravel()),
        "edges range": lambda: arguments["edges"].__setitem__((3, 1), 120),
        "edges negative": lambda: arguments["edges"].__setitem__((3, 0), -1),
        "edges across": lambda: arguments["edges"].__setitem__((2,), (5, 6)),
        "edges loop": lambda: arguments["edges"].__setitem__((1,), (4, 4)),
        "weights shape": lambda: arguments.update(edge_weights=np.ones(3)),
        "weights negative": lambda: arguments["edge_weights"].__setitem__(8, -1.0),
        "weights nan": lambda: arguments["edge_weights"].__setitem__(8, np.nan),
    }
    changes[what]()
    return arguments


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("nan", "X contains NaN or infinity, first at row 5, column 2"),
        ("inf", "X contains NaN or infinity, first at row 7, column 1"),
        ("tags shape", r"tags must have shape \(photos, 5\), got \(20, 4\)"),
        ("tags 2", "tags must be 0 or 1, got .*2.* at row 4, column 1"),
        ("groups shape", r"groups must have shape \(120,\).* got \(119,\)"),
        ("groups range", "groups must be between 0 and 19.* got 99 at index 9"),
        ("groups negative", "groups must be between 0 and 19.* got -1 at index 9"),
        ("groups fraction", "groups must be whole numbers, got .*0.5.* at index"),
        ("edges shape", r"edges must have shape \(E, 2\)"),
        ("edges range", r"edges\[3\] = \(3, 120\) is out of range for 120 regions"),
        ("edges negative", r"edges\[3\] = \(-1, 4\) is out of range"),
        ("edges across", r"edges\[2\] = \(5, 6\) joins regions of different photos"),
        ("edges loop", r"edges\[1\] = \(4, 4\) joins a region to itself"),
        ("weights shape", r"edge_weights must have shape \(100,\).* got \(3,\)"),
        ("weights negative", "edge_weights must be finite and not negative, got -1.0 at index 8"),
        ("weights nan", "edge_weights must be finite and not negative, got nan at index 8"),
    ],
)
def test_bad_arrays_are_refused_by_name_and_index(small: Planted, what: str, message: str) -> None:
    arguments = spoil(what, small)
    with pytest.raises(ValueError, match=message):
        make().fit(arguments.pop("X"), arguments.pop("tags"), **arguments)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sticks": "one"}, "sticks must be one of per-kind, single, got 'one'"),
        ({"stick_order": "x"}, "stick_order must be one of ranked, free-first, tagged-first"),
        ({"stick_span": "x"}, "stick_span must be one of allowed, all"),
        ({"start": "zeros"}, "start must be one of tags, activation, kmeans, random, got 'zeros'"),
        ({"coupling": -1.0}, "coupling must be 0 or more, got -1.0"),
        ({"affinity": np.nan}, "affinity must be 0 or more, got nan"),
        ({"max_sweeps": 0}, "max_sweeps must be 1 or more, got 0"),
        ({"sparsity": 0.0}, "sparsity must be above 0"),
        ({"seed": -1}, "seed must be 0 or more, got -1"),
        ({"noise": "x"}, "noise must be one of isotropic, full, got 'x'"),
        ({"exclusive": 3}, "exclusive must be True or False, got 3"),
        ({"shrinkage": -1.0}, "shrinkage must lie between 1e-06 and 1e.09, got -1.0"),
        ({"shrinkage": np.nan}, "shrinkage must lie between 1e-06 and 1e.09, got nan"),
        ({"shrinkage": 1.0, "attribute_shrinkage": 0.0}, "attribute_shrinkage must lie between"),
        ({"attribute_shrinkage": 2.0}, "attribute_shrinkage is given without shrinkage"),
        ({"n_free": -1}, "n_objects, n_attributes, n_free must be 0 or more"),
    ],
)
def test_bad_settings_are_refused_at_fit(small: Planted, parameters: dict, message: str) -> None:
    model = make().set_params(**parameters)
    with pytest.raises(InputError, match=message):
        model.fit(small.X, small.tags, groups=small.groups)


def test_missing_tags_and_groups_are_refused_if_they_are_needed(small: Planted) -> None:
    with pytest.raises(InputError, match="5 factors need tags"):
        make().fit(small.X)
    with pytest.raises(InputError, match="groups is needed"):
        make().fit(small.X, small.tags)


def test_infer_refuses_other_widths(small: Planted) -> None:
    model = fitted(small)
    with pytest.raises(ValueError, match="features"):
        model.infer(small.X[:, :-1], groups=small.groups)
    with pytest.raises(InputError, match=r"allowed must have shape \(photos, 5 or 7\)"):
        model.infer(small.X, groups=small.groups, allowed=small.tags[:, :3])


@pytest.mark.parametrize("start", ["tags", "kmeans", "random"])
@pytest.mark.parametrize("sticks", ["per-kind", "single"])
def test_every_start_and_stick_option_trains(small: Planted, start: str, sticks: str) -> None:
    model = fitted(small, start=start, sticks=sticks)
    assert len(model.sparsity_) == (3 if sticks == "per-kind" else 1)
    assert model.bound_[-1] > model.bound_[0]


def test_exclusive_factors_stay_exclusive_on_new_photos(small: Planted) -> None:
    model = fitted(small, exclusive=True, shrinkage=2.0, attribute_shrinkage=5.0)
    assert clone(model).get_params() == model.get_params()
    assert (model.get_params()["exclusive"], model.get_params()["shrinkage"]) == (True, 2.0)
    exclusive = np.r_[: model.n_objects, K - N_FREE : K]
    assert model.assign_[:, exclusive].sum(axis=1).max() <= 1 + 1e-9
    for transductive in (False, True):
        unseen = model.infer(small.X[:30], groups=small.groups[:30], transductive=transductive)
        assert unseen.assign[:, exclusive].sum(axis=1).max() <= 1 + 1e-9
    several = fitted(small).infer(small.X[:30], groups=small.groups[:30])
    assert several.assign[:, exclusive].sum(axis=1).max() > 1.1


def test_strong_shrinkage_draws_appearances_towards_zero(small: Planted) -> None:
    def sizes(**choices: float) -> Floats:
        return np.linalg.norm(fitted(small, **choices).appearance_mean_, axis=1)

    model = fitted(small)
    attributes = slice(model.n_objects, K - N_FREE)
    weak, strong, strong_attributes = (
        sizes(shrinkage=0.1), sizes(shrinkage=1e6), sizes(shrinkage=0.1, attribute_shrinkage=1e6)
    )  # fmt: skip
    assert strong.max() < 0.01 * weak.max()
    assert strong_attributes[attributes].max() < 0.01 * weak.max()
    assert strong_attributes[: model.n_objects].max() > 0.1 * weak.max()


def test_fixed_sparsity_stays(small: Planted) -> None:
    assert_array_equal(fitted(small, sparsity=2.5).sparsity_, [2.5, 2.5, 2.5])


def test_frozen_affinity_is_the_correlation_of_the_tags(small: Planted) -> None:
    tagged = K - N_FREE
    frozen = fitted(small, learn_affinity=False).affinity_
    expected = np.corrcoef(small.tags.T) - np.eye(tagged)
    assert_allclose(frozen[:tagged, :tagged], expected, atol=1e-12)
    assert_array_equal(frozen[tagged:], 0)
