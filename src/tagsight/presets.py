"""The paper's models by name, as arguments of `StackedIBP`."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "ws-sibp": {"coupling": 0.0, "affinity": 0.0},
    "ws-mrf-sibp": {"coupling": 1.0, "affinity": 1.0},
}
