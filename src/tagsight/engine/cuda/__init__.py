"""Local steps on an NVIDIA GPU: PyTorch for the products, Triton for the sweep, the same summaries as elsewhere."""
