"""Pages and a JSON API over an index: routes and templates."""
