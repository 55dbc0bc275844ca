"""Photos and their tags: what comes in."""
