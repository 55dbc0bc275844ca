"""The command line: one module per command, each with a call of the Python API and a print."""
