"""Photos and their regions to feature vectors: networks and classic features, extraction and its cache."""
