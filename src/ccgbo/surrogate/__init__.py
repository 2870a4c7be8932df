"""The GP core: kernels, posterior, fit, paths and outcome transforms."""
