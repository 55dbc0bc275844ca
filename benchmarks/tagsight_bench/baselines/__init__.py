"""Baseline methods with the interface of `evaluation.method`, all on the same regions and features."""
