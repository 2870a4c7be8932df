"""Counterfactual Credit Guided Bayesian Optimization for Optuna; the sampler itself lives in the ccgbo package."""

from ccgbo.integrations.optuna import CCGBOSampler


__all__ = ["CCGBOSampler"]
