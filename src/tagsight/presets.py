"""The paper's models by name, as arguments of `StackedIBP`.

The paper does not say how strong its fields are: docs/explanation/readers.md tells how these were chosen.
"""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "ws-sibp": {"coupling": 0.0, "affinity": 0.0},
    "ws-mrf-sibp": {"coupling": 0.3, "affinity": 0.05},
}
