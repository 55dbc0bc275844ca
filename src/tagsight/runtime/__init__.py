"""What every part of the process shares: signals, progress, BLAS threads, compiled kernels, workers, memory."""
