"""Classifiers of regions and of whole photos, trained on the photos' tags and the model's posterior."""
