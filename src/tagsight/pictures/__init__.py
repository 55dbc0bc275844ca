"""Pictures and HTML pages of predictions."""
