"""Evaluation protocols: predictions compared with the truth."""
