"""Tune a gradient-boosting-like toy with Ray: mixed space, two trials at a time, a failing corner.

Run: pip install 'ccgbo[ray]' && python examples/ray_tune.py
"""

import tempfile

import ray
from ray import tune
from ray.tune.search import ConcurrencyLimiter

from ccgbo.integrations.ray import CCGBOSearch


def train(config):
    from math import log10

    if config["model"]["rate"] > 0.9:
        raise RuntimeError("diverged")  # a failed trial: avoided from then on
    penalty = {"gini": 0.0, "entropy": 0.2}[config["criterion"]]
    return {"loss": (log10(config["model"]["rate"]) + 1.5) ** 2 + (config["model"]["depth"] - 6) ** 2 / 30 + penalty}


def main(num_samples=12):
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
    search = CCGBOSearch(seed=0, n_initial=6)
    tuner = tune.Tuner(
        train,
        param_space={
            "model": {"rate": tune.loguniform(1e-3, 1.0), "depth": tune.randint(1, 13)},
            "criterion": tune.choice(["gini", "entropy"]),
            "epochs": 10,  # a constant
        },
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            num_samples=num_samples,
            search_alg=ConcurrencyLimiter(search, max_concurrent=2),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    best = tuner.fit().get_best_result()
    print(f"best loss {best.metrics['loss']:.4f} at {best.config}")
    print("most credited:", search.credits()[0])
    return search, best


if __name__ == "__main__":
    main()
