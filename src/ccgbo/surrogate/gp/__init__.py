"""The exact Gaussian process: kernels, trend, fit, posterior and paths."""
