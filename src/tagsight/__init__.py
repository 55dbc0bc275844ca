"""Learn what each noun and adjective looks like from photos with tags alone."""

import os
from typing import TYPE_CHECKING, Any

from tagsight.errors import InputError, TagsightError

if TYPE_CHECKING:
    from tagsight.estimator import StackedIBP

__all__ = ["InputError", "StackedIBP", "TagsightError"]

# Nothing about a user's photos leaves the machine. onnxruntime sends events unless this is set before its import; its
# own call to switch them off comes too late.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def __getattr__(name: str) -> Any:
    """Import the estimator when it is asked for: scikit-learn takes most of a second, and few commands need it."""
    if name == "StackedIBP":
        from tagsight.estimator import StackedIBP

        return StackedIBP
    raise AttributeError(f"module 'tagsight' has no attribute {name!r}")
