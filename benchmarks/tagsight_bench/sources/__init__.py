"""Collections with ground truth, one module each."""
