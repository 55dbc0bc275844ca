"""Vectors + tags -> posterior. Arrays only: no image, word, path or print."""
