"""Regions to vectors."""
