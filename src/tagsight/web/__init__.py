"""A web server for an index: HTML pages and a JSON API."""
