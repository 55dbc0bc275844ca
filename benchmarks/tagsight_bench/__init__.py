"""The benchmark: methods scored by protocols, cell by cell, and the page of results."""
