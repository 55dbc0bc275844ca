"""Commands: one a file, each a docstring, a call and a print."""
