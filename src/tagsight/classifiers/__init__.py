"""Discriminative readers of regions, taught by tags and by the model's posterior on the training photos."""
