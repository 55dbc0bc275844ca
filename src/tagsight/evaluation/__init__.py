"""Answers against truth."""
