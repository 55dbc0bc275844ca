"""The paper's models by name, as arguments of `StackedIBP`."""

from typing import Any

from tagsight.errors import InputError

PRESETS: dict[str, dict[str, Any]] = {
    "ws-sibp": {"coupling": 0.0, "affinity": 0.0},
    "ws-mrf-sibp": {"coupling": 1.0, "affinity": 1.0},
}


def find_preset(name: str) -> dict[str, Any]:
    """The settings of a preset."""
    if name not in PRESETS:
        raise InputError(f"there is no preset {name!r}; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
