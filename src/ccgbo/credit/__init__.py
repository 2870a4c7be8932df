"""Counterfactual credit: the proxy of the optimum, scores of past observations, and the field they spread."""
