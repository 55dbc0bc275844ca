"""Random numbers and samples depend on a region's content alone."""

import numpy as np
import pytest
from scipy.stats import kstest

from tagsight.model.sampling import Sample, draw_rows, hash_rows, merge_samples, uniform
from tagsight.types import Array


def features(n: int, dtype: type = np.float64) -> Array:
    return np.random.default_rng(0).standard_normal((n, 5)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_numbers_do_not_depend_on_the_position_of_a_region(dtype: type):
    X = features(50, dtype)
    permutation = np.random.default_rng(1).permutation(50)
    numbers = uniform(hash_rows(X, np.arange(50)), 3, seed=4)
    assert np.array_equal(uniform(hash_rows(X, permutation), 3, seed=4), numbers[permutation])
    moved = np.ascontiguousarray(X[permutation])
    assert np.array_equal(uniform(hash_rows(moved, np.arange(50)), 3, seed=4), numbers[permutation])


def test_precision_does_not_matter():
    X = features(50, np.float32)
    rows = np.arange(50)
    assert np.array_equal(hash_rows(X, rows), hash_rows(X.astype(np.float64), rows))


def test_many_rows_are_hashed_like_few():
    X = np.random.default_rng(3).standard_normal((9000, 2))
    keys = hash_rows(X, np.arange(9000))
    assert np.array_equal(keys[8990:], hash_rows(X, np.arange(8990, 9000)))
    assert len(np.unique(keys)) == 9000


def test_every_entry_its_place_the_column_and_the_seed_count():
    X = features(1, np.float32)
    key = hash_rows(X, np.arange(1))[0]
    for d in range(5):
        other = X.copy()
        other[0, d] = np.nextafter(other[0, d], np.float32(np.inf))
        assert hash_rows(other, np.arange(1))[0] != key
    assert hash_rows(np.ascontiguousarray(X[:, ::-1]), np.arange(1))[0] != key
    keys = hash_rows(features(20), np.arange(20))
    columns = uniform(keys, 4, seed=0)
    assert len(np.unique(columns)) == columns.size
    assert not np.any(uniform(keys, 4, seed=1) == columns)


def test_numbers_are_uniform_and_columns_and_seeds_unrelated():
    keys = hash_rows(features(4000), np.arange(4000))
    numbers = np.hstack([uniform(keys, 3, seed=0), uniform(keys, 3, seed=1)])
    assert np.all((numbers > 0) & (numbers < 1))
    for column in numbers.T:
        assert kstest(column, "uniform").pvalue > 1e-3
    correlation = np.corrcoef(numbers.T) - np.eye(6)
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


def test_no_bit_of_a_key_is_lost():
    """With only 32 bits, about ten pairs of these numbers would collide."""
    keys = np.random.default_rng(4).integers(2**63, size=300_000).astype(np.uint64)
    assert len(np.unique(uniform(keys, 1, seed=1))) == 300_000


def test_numbers_are_uniform_for_features_that_differ_in_little():
    """Whole numbers in few columns: most bits of each word are the same."""
    X = np.array([[a, b] for a in range(60) for b in range(60)], np.float32)
    assert kstest(uniform(hash_rows(X, np.arange(3600)), 1, seed=0)[:, 0], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("size", [7, 30, 100])
def test_samples_of_parts_merge_to_the_sample_of_the_whole(size: int):
    X = features(60)
    whole = draw_rows(X, np.arange(60), size, seed=3)
    parts = np.split(np.random.default_rng(2).permutation(60), [5, 31])
    samples = [draw_rows(X, rows, size, seed=3) for rows in parts]
    assert np.array_equal(merge_samples(samples, size).rows, whole.rows)
    assert len(whole.rows) == min(size, 60)
    assert np.all(np.diff(whole.keys) > 0)


def test_a_sample_favours_no_row():
    X = features(200)
    drawn = np.concatenate([draw_rows(X, np.arange(200), 20, seed).rows for seed in range(400)])
    times = np.bincount(drawn, minlength=200)
    assert abs(times.mean() - 40) < 1e-9
    assert times.min() > 40 - 5 * np.sqrt(36)
    assert times.max() < 40 + 5 * np.sqrt(36)


def test_rows_of_any_shape_are_merged_at_random():
    first = Sample(np.array([0.1, 0.5]), np.array([[1.0], [5.0]]))
    second = Sample(np.array([0.2, 0.3]), np.array([[2.0], [3.0]]))
    assert merge_samples([first, second], 3).rows.ravel().tolist() == [1.0, 2.0, 3.0]
