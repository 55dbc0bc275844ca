"""Learn what each noun and adjective looks like from photos with tags alone."""

from tagsight.errors import InputError, TagsightError
from tagsight.estimator import StackedIBP

__all__ = ["InputError", "StackedIBP", "TagsightError"]
