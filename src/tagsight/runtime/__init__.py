"""Process-wide services: signals, progress, BLAS threads, compiled kernels, worker processes, memory."""
