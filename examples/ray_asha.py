"""Tune a classifier with Ray and ASHA: every trial reports after each epoch, and the worse ones are stopped early.

Run: pip install 'ccgbo[ray]' scikit-learn && python examples/ray_asha.py
"""

import tempfile

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import ConcurrencyLimiter

from ccgbo.integrations.ray import CCGBOSearch

EPOCHS = 16


def train(config):
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    model = SGDClassifier(
        loss="log_loss",
        alpha=config["alpha"],
        learning_rate="constant",
        eta0=config["rate"],
        average=config["average"],
        random_state=0,
    )
    for _ in range(config["epochs"]):
        model.partial_fit(X / 16.0, y, classes=np.arange(10))
        tune.report({"accuracy": float(model.score(X_test / 16.0, y_test))})


def main(num_samples=20):
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
    search = CCGBOSearch(seed=0, n_initial=6, max_t=EPOCHS)  # max_t: what a whole run is, as for the scheduler
    tuner = tune.Tuner(
        train,
        param_space={
            "alpha": tune.loguniform(1e-6, 1e-1),
            "rate": tune.loguniform(1e-4, 1.0),
            "average": tune.choice([False, True]),
            "epochs": EPOCHS,
        },
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=num_samples,
            search_alg=ConcurrencyLimiter(search, max_concurrent=2),
            scheduler=ASHAScheduler(max_t=EPOCHS, grace_period=2, reduction_factor=2),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result()
    stopped = sum(r.metrics["training_iteration"] < EPOCHS for r in results)
    print(f"best accuracy {best.metrics['accuracy']:.4f}; {stopped} of {len(results)} trials were stopped early")
    return search, results


if __name__ == "__main__":
    main()
