"""Where local steps run."""
