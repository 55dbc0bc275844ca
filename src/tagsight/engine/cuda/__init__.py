"""Local steps on an NVIDIA GPU, with PyTorch for the products and Triton for the sweeps."""
