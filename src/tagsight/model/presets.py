"""The paper's models by name, as arguments of `StackedIBP`.

The paper does not report the strengths of its fields. docs/explanation/model.md, section 10, describes how these were
chosen, and section 5 why the field within regions is centred.
"""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "ws-sibp": {"coupling": 0.0, "affinity": 0.0, "centred": False},
    "ws-mrf-sibp": {"coupling": 0.4, "affinity": 2.0, "centred": True},
}
