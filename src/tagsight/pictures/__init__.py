"""Answers -> pictures and pages to look at."""
