"""Rival methods behind the face of `evaluation.method`, all on the same regions and features."""
