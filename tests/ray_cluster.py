"""A small Ray cluster of this machine, for a test module."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from tagsight.engine.ray.cluster import provide_token


@contextmanager
def open_cluster() -> Iterator[str]:
    """Start a cluster; yields its address. This process is part of it."""
    ray = import_module("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    provide_token()
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as place:
        ray.init(
            "local", num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, _temp_dir=place,
            log_to_driver=False,
        )  # fmt: skip
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()
