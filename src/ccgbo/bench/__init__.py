"""Benchmark problems, baselines and experiments."""
