"""What a training chooses from the tags: the number of free factors and the start."""

from dataclasses import replace

import numpy as np

from tagsight.training.fit import N_BACKGROUND, fit_photos
from tagsight.training.options import TrainOptions
from tests.baselines.planted import World, draw_world, make_photo

OPTIONS = TrainOptions(n_free=None, coupling=0.0, affinity=0.0, exclusive=True, shrinkage=10.0, classifiers=False)


def remove_background(world: World) -> World:
    """The world with every region of a photo drawn from the regions of its objects."""
    rng = np.random.default_rng(0)
    photos = [
        make_photo(photo.features[rng.choice(np.flatnonzero(label), len(label))])
        for photo, label in zip(world.photos, world.labels, strict=True)
    ]
    return world._replace(photos=photos)


def count_free(world: World, options: TrainOptions) -> int:
    return fit_photos(world.photos, world.tags, options).predictor.parts.learned.settings.factors.free


def test_free_factors_are_chosen_where_tags_do_not_cover_the_photos() -> None:
    world = draw_world(45, seed=0)
    assert count_free(world, OPTIONS) == N_BACKGROUND
    assert count_free(remove_background(world), OPTIONS) == 0


def test_a_given_number_of_free_factors_is_kept() -> None:
    assert count_free(remove_background(draw_world(20, seed=0)), replace(OPTIONS, n_free=2)) == 2


def test_the_start_is_chosen_with_the_number_of_free_factors() -> None:
    world = draw_world(45, seed=0)
    for photos, start, other in ((world, "tags", "activation"), (remove_background(world), "activation", "tags")):
        chosen, same, different = (
            fit_photos(photos.photos, photos.tags, replace(OPTIONS, start=name)).bound for name in (None, start, other)
        )
        assert chosen == same
        assert chosen != different
