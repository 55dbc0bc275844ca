"""Compute engines for the model's local steps: threads, shards on disk, GPU, Ray; and the checkpoints of a fit."""
