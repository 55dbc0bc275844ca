"""Local steps on a GPU equal those on the CPU; without a GPU the same kernels run in Triton's interpreter."""

import os
from typing import Any

import numpy as np
import pytest

from tagsight.engine.local.threads import ThreadBatch
from tagsight.model import sticks
from tagsight.model.bound import evaluate_bound
from tagsight.model.layout import Edges
from tagsight.model.local_step import local_step as cpu_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.settings import NOISES, Factors, Settings, plan_sticks
from tagsight.model.state import SummaryStatistics
from tests.engine.training import FACTORS as TRAINING_FACTORS
from tests.engine.training import draw_photos, train
from tests.model.cases import EXCLUSIVE_CHOICES, STICK_CHOICES, Case, Data, draw_case, draw_data
from tests.oracles import is_rising

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (tagsight[torch])")
HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton", reason="Triton is not installed")

from tagsight.engine.cuda import resident, stick_kernels  # noqa: E402
from tagsight.engine.cuda.batch import CudaBatch  # noqa: E402
from tagsight.engine.cuda.local_step import cuda_local_step as gpu_step  # noqa: E402
from tagsight.engine.cuda.products import sum_rows  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
SMALL = (4, 1, 6)  # regions of each photo
FACTORS = Factors(3, 2, 2)


def on_gpu(case: Case, dtype: Any = torch.float32) -> CudaBatch:
    return CudaBatch(case.shard, case.local, case.settings, DEVICE, dtype)


def on_cpu(case: Case) -> ThreadBatch:
    return ThreadBatch(case.shard, case.local, case.settings, map)


def draw(seed: int, sizes: tuple[int, ...] = SMALL, factors: Factors = FACTORS, **choices: Any) -> Case:
    data = draw_data(np.random.default_rng(seed), factors, sizes=sizes)
    return draw_case(seed, data, factors, **choices)


def assert_same(ours: SummaryStatistics, theirs: SummaryStatistics, tol: float = 2e-6) -> None:
    for name, a, b in zip(SummaryStatistics._fields, ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=tol, abs=tol), name


def assert_same_steps(case: Case, n_steps: int = 2) -> None:
    ours, theirs = on_gpu(case), on_cpu(case)
    for _ in range(n_steps):
        assert_same(ours.step(case.state), theirs.step(case.state))
    assert ours.local.assign == pytest.approx(theirs.local.assign, abs=2e-6)
    assert ours.local.sticks == pytest.approx(theirs.local.sticks, rel=2e-6)
    assert np.array_equal(ours.local.order, theirs.local.order)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("coupling", "affinity"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (3.0, 2.0)])
def test_steps_are_those_of_the_cpu(coupling: float, affinity: float, centred: bool, exclusive: bool):
    assert_same_steps(draw(1, coupling=coupling, affinity=affinity, centred=centred, exclusive=exclusive))


@pytest.mark.parametrize("choices", EXCLUSIVE_CHOICES)
def test_exclusive_and_shrunken_factors_are_those_of_the_cpu(choices: dict[str, Any]):
    assert_same_steps(draw(20, coupling=0.5, affinity=1.0, passes=2, **choices), n_steps=1)


def test_extreme_evidence_of_exclusive_factors_keeps_its_order():
    case = draw(21, (6,), coupling=0.0, affinity=0.0, exclusive=True)
    sharp = case.state._replace(scales=case.state.scales._replace(noise=1e-3))
    ours, theirs = log_odds_of(case._replace(state=sharp))
    assert np.isfinite(ours).all()
    assert np.abs(theirs).max() > 1e3
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-2)


def test_a_full_noise_covariance_is_that_of_the_cpu():
    assert_same_steps(draw(18, coupling=0.5, affinity=1.0, noise="full"))
    assert_same_steps(draw(19, (75, 2), Factors(6, 6, 7), noise="full"), n_steps=1)


@pytest.mark.parametrize("noise", NOISES)
def test_every_step_uses_its_own_globals(noise: str):
    """From the second step on, a GPU replays a recorded graph."""
    case = draw(13, passes=2, noise=noise)
    ours, theirs = on_gpu(case), on_cpu(case)
    mean, _ = case.state.appearance
    for factor in (1.0, 0.7, 1.2, 0.9):
        appearance = case.state.appearance._replace(mean=factor * mean)
        scales = case.state.scales._replace(noise=factor**2 * case.state.scales.noise)
        state = case.state._replace(appearance=appearance, scales=scales)
        assert_same(ours.step(state), theirs.step(state))
    assert ours.local.assign == pytest.approx(theirs.local.assign, abs=2e-6)


def test_summaries_stay_as_they_were_after_later_steps():
    case = draw(14)
    batch = on_gpu(case)
    summaries = [batch.step(case.state) for _ in range(3)]
    kept = [summary.cross.copy() for summary in summaries]
    batch.step(case.state._replace(appearance=case.state.appearance._replace(mean=-case.state.appearance.mean)))
    for summary, cross in zip(summaries, kept, strict=True):
        assert np.array_equal(summary.cross, cross)


@pytest.mark.parametrize("exclusive", [False, True])
def test_log_odds_are_those_of_the_cpu(exclusive: bool):
    ours, theirs = log_odds_of(draw(15, (75, 2), Factors(6, 6, 7), exclusive=exclusive))
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5)


def log_odds_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of the GPU and of the CPU after one sweep."""
    plan = plan_sticks(case.settings)
    photos = resident.upload_photos(case.shard, plan, DEVICE, torch.float32)
    posterior = resident.upload_posterior(case.local, case.shard.layout, plan, DEVICE)
    ours, theirs = torch.empty_like(posterior.assign), np.empty_like(case.local.assign)
    gpu_step(photos, posterior, case.state, case.settings, 1, ours)
    cpu_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=1), log_odds=theirs)
    return ours.cpu().numpy(), theirs


@pytest.mark.parametrize(("n", "M"), [(1, 3), (37, 300), (16, 256), (0, 5)])
def test_rows_are_summed_in_double_precision(n: int, M: int):
    values = np.random.default_rng(16).normal(size=(n, M)).astype(np.float32)
    total = sum_rows(torch.from_numpy(values).to(DEVICE)).cpu().numpy()
    assert total == pytest.approx(values.sum(axis=0, dtype=np.float64), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("choice", STICK_CHOICES if HAS_GPU else STICK_CHOICES[1::5])
def test_every_choice_of_sticks_is_that_of_the_cpu(choice: dict[str, Any]):
    assert_same_steps(draw(2, passes=2, **choice), n_steps=1)


@pytest.mark.parametrize("exclusive", [False, True])
def test_photos_that_fill_several_tiles(exclusive: bool):
    """More factors and more regions of a colour than one tile holds."""
    assert_same_steps(draw(3, (75, 2), Factors(6, 6, 7), exclusive=exclusive), n_steps=1)
    if exclusive:  # no attributes, then only attributes
        assert_same_steps(draw(3, (40,), Factors(20, 0, 15), exclusive=True), n_steps=1)
        assert_same_steps(draw(3, (40,), Factors(0, 20, 0), exclusive=True), n_steps=1)


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_centred_field_raises_the_bound_over_several_tiles(exclusive: bool):
    """Tiles of regions are then updated in another order than on the CPU."""
    case = draw(17, (75, 2), Factors(6, 6, 7), coupling=0.5, affinity=1.0, centred=True, exclusive=exclusive)
    batch = on_gpu(case)
    summaries = [batch.summarise(case.state)] + [batch.step(case.state) for _ in range(4)]
    assert is_rising([evaluate_bound(summary, case.state, case.settings).total for summary in summaries], slack=1e-6)


def test_summaries_do_not_change_the_posterior():
    case = draw(4)
    ours, theirs = on_gpu(case), on_cpu(case).summarise(case.state)
    total = ours.summarise(case.state)
    assert_same(total, theirs)
    assert total.log_sticks == pytest.approx(theirs.log_sticks, rel=1e-11)  # no nu in them: double precision
    assert total.stick_entropy == pytest.approx(theirs.stick_entropy, rel=1e-11)
    assert ours.local.assign == pytest.approx(case.local.assign, rel=1e-7)
    assert np.array_equal(ours.local.sticks, case.local.sticks)


def test_forbidden_factors_are_exactly_zero():
    case = draw(5)
    never = int(np.argmin(case.data.allowed.sum(axis=0)))
    allowed = case.data.allowed.copy()
    allowed[:, never] = 0
    case = draw_case(5, case.data._replace(allowed=allowed))
    total = on_gpu(case).step(case.state)
    assert total.count[never] == 0
    assert not total.pair[never].any()
    assert not total.cross[never].any()


@pytest.mark.parametrize("sizes", [(1,), (1, 1, 1), (5,)])
def test_photos_without_edges(sizes: tuple[int, ...]):
    data = draw_data(np.random.default_rng(6), sizes=sizes)
    assert_same_steps(draw_case(6, data._replace(edges=Edges(np.zeros((0, 2), np.int64), np.zeros(0)))), n_steps=1)


def test_a_photo_that_allows_nothing():
    factors = Factors(3, 2, 0)
    data: Data = draw_data(np.random.default_rng(7), factors, sizes=SMALL)
    data.allowed[0] = 0
    data.allowed[1] = [1, 1, 0, 0, 0]  # and one without an attribute
    assert_same_steps(draw_case(7, data, factors), n_steps=1)


def test_results_are_reproducible_to_the_bit():
    case = draw(8)
    first, second = on_gpu(case), on_gpu(case)
    for a, b in zip(first.step(case.state), second.step(case.state), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(first.local.assign, second.local.assign)


def test_chunks_add_up(monkeypatch: pytest.MonkeyPatch):
    case = draw(9)
    whole = on_gpu(case).step(case.state)
    monkeypatch.setattr(resident, "CHUNK", 5)
    parts = on_gpu(case)
    assert len(parts._photos.chunks) > 1
    assert_same(parts.step(case.state), whole)


def test_bfloat16_rounds_the_features_and_nothing_else():
    case = draw(10, coupling=0.5)
    rounded = torch.from_numpy(case.data.X).to(torch.bfloat16).double().numpy()
    exact = draw_case(10, case.data._replace(X=rounded), coupling=0.5)
    ours, theirs = on_gpu(case, torch.bfloat16), on_cpu(exact._replace(local=case.local, state=case.state))
    assert_same(ours.step(case.state), theirs.step(case.state), tol=2e-4)
    assert ours.local.assign == pytest.approx(theirs.local.assign, abs=2e-4)


def test_free_factors_are_cleared_and_restored():
    case = draw(11)
    ours, theirs = on_gpu(case), on_cpu(case)
    for batch in (ours, theirs):
        batch.clear_free()
    assert ours.local.assign == pytest.approx(theirs.local.assign, rel=1e-7)
    for batch in (ours, theirs):
        for _ in range(3):
            batch.step(case.state)
        batch.restore()
    assert ours.local.assign == pytest.approx(case.local.assign, rel=1e-7)
    assert np.array_equal(ours.local.sticks, case.local.sticks)
    assert_same(ours.step(case.state), theirs.step(case.state))
    assert ours.local.assign == pytest.approx(theirs.local.assign, abs=2e-6)


def test_residuals_are_those_of_the_cpu():
    case = draw(12)
    ours, theirs = (batch.sample_residuals(case.state, 5, 3) for batch in (on_gpu(case), on_cpu(case)))
    assert np.array_equal(ours.keys, theirs.keys)
    assert ours.rows == pytest.approx(theirs.rows, abs=1e-6)


def test_sticks_are_updated_as_often_as_on_the_cpu():
    assert stick_kernels.UPDATES.value == sticks.UPDATES


@pytest.mark.skipif(not HAS_GPU, reason="too slow in Triton's interpreter: no GPU")
@pytest.mark.parametrize("noise", NOISES)
def test_training_ends_where_the_cpu_does(noise: str):
    photos = draw_photos(60, D=30, noise=1.0)
    settings = Settings(TRAINING_FACTORS, learn_affinity=False, noise=noise)

    def move(parts: list[ThreadBatch]) -> list[CudaBatch]:
        return [CudaBatch(part.shard, part.local, settings, DEVICE, torch.float32) for part in parts]

    ours, theirs = train(photos, settings, combine=move), train(photos, settings)
    assert ours.fit.bound == pytest.approx(theirs.fit.bound, rel=1e-5)
    assert is_rising([sweep.bound.total for sweep in ours.fit.sweeps], slack=1e-6)
