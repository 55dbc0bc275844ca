"""A prediction depends on the photo only, not on BLAS threads or on other photos."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from tagsight.features.extract import extract
from tagsight.predict.model_file import load_model
from tagsight.predict.predictor import predict_photos

from .conftest import Trained


@pytest.mark.parametrize("n_threads", [2, 4])
def test_predictions_depend_on_the_photo_only(trained: Trained, n_threads: int) -> None:
    model = load_model(trained.model)
    paths = sorted((trained.photos / "train").glob("*.jpg"))[:6]
    photos = list(extract(paths, model.extractor_config, n_regions=model.n_regions, n_workers=1).load())
    with threadpool_limits(1, user_api="blas"):
        alone = [predict_photos(model.predictor, [photo])[0] for photo in photos]
    with threadpool_limits(n_threads, user_api="blas"):
        together = predict_photos(model.predictor, photos)
    assert len(together) == 6
    for one, other in zip(alone, together, strict=True):
        for field, expected, got in zip(one._fields, one, other, strict=True):
            assert_array_equal(np.asarray(got), np.asarray(expected), err_msg=field)
