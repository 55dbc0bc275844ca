"""How long work tells of its progress."""

from collections.abc import Callable

Report = Callable[[str, int, int], None]  # stage, done, of how many (0: unknown)


def no_progress(stage: str, done: int, total: int) -> None:
    """For when no one asked to be told."""
