"""Hyperparameter searches of scikit-learn models on the data sets that ship with scikit-learn.

    problem         data, rows            value (maximised)                          parameters
    SVRDiabetes     diabetes, 442         minus RMSE, 3 folds                        5, one categorical
    GBTDiabetes     diabetes, 442         minus RMSE, 2 folds                        7, one categorical
    KNNWine         wine, 178             minus Brier score, 5 folds                 5, two categoricals
    SGDCancer       breast cancer, 569    minus log loss, 3 folds                    6, two categoricals
    KernelDigits    digits, 400 + 800     minus mean squared error of one-hot        6, one categorical
    MLPDigits       digits, 400 + 800     minus log loss                             7, two categoricals
    SVCCancer       breast cancer, 569    minus log loss of the decision, 3 folds    5, one categorical

The last two are for choosing defaults and not reported on.

Folds, splits and every random_state are fixed, so that equal params give equal values. A parameter that a choice does
not use (the degree of a kernel without one) is accepted and changes nothing. Targets are standardised, and an RMSE
is capped at 2, a log loss at 10, so that a diverging model is bad but finite.

No optimum is known: ``BEST`` holds the better of two searches, ``search_space(problem, n_random=1500, n_local=1000,
seed=s)`` with s = 0 and 1, run with scikit-learn 1.9. Another version of scikit-learn may move the values a little. The
two searches of GBTDiabetes differ by 0.010, of SVRDiabetes by 0.010, of MLPDigits by 0.003, of KNNWine by 0.002: a
patient optimizer may find a slightly better point, and its regret is then below 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ccgbo.arrays import Array, Index
from ccgbo.bench.problems.base import Factory, Problem, folds, need, row_by_row
from ccgbo.bench.problems.tuning_best import BEST
from ccgbo.space import Categorical, Float, Int, Space

LOG_LOSS_CAP, RMSE_CAP = 10.0, 2.0
SPLIT_SEED, MODEL_SEED = 0, 0
DIGITS_TRAIN, DIGITS_TEST = 400, 800

SVR_SPACE = Space(
    {
        "kernel": Categorical(["linear", "rbf", "sigmoid"]),
        "C": Float(1e-2, 10.0, log=True),
        "gamma": Float(1e-4, 1.0, log=True),
        "epsilon": Float(1e-3, 1.0, log=True),
        "coef0": Float(-1.0, 1.0),
    }
)
GBT_SPACE = Space(
    {
        "learning_rate": Float(1e-2, 1.0, log=True),
        "n_estimators": Int(5, 40, log=True),
        "max_depth": Int(1, 4),
        "subsample": Float(0.3, 1.0),
        "min_samples_leaf": Int(1, 50, log=True),
        "max_features": Float(0.1, 1.0),
        "loss": Categorical(["squared_error", "absolute_error", "huber"]),
    }
)
KNN_SPACE = Space(
    {
        "n_neighbors": Int(1, 40, log=True),
        "weights": Categorical(["uniform", "distance"]),
        "p": Float(1.0, 6.0),
        "scaling": Categorical(["none", "standard", "minmax", "rank"]),
        "components": Int(1, 13),
    }
)
SGD_SPACE = Space(
    {
        "penalty": Categorical(["l1", "l2", "elasticnet"]),
        "alpha": Float(1e-6, 1.0, log=True),
        "l1_ratio": Float(0.0, 1.0),
        "eta0": Float(1e-4, 1.0, log=True),
        "schedule": Categorical(["constant", "invscaling", "adaptive"]),
        "epochs": Int(1, 50, log=True),
    }
)
KERNEL_SPACE = Space(
    {
        "kernel": Categorical(["linear", "polynomial", "rbf", "laplacian"]),
        "alpha": Float(1e-6, 10.0, log=True),
        "gamma": Float(1e-4, 10.0, log=True),
        "degree": Int(2, 5),
        "components": Int(2, 64),
        "contrast": Float(0.3, 3.0, log=True),  # exponent of the pixel values
    }
)
NET_SPACE = Space(
    {
        "hidden": Int(4, 64, log=True),
        "activation": Categorical(["relu", "tanh", "logistic"]),
        "solver": Categorical(["sgd", "adam"]),
        "learning_rate_init": Float(1e-4, 1.0, log=True),
        "alpha": Float(1e-6, 10.0, log=True),
        "batch_size": Int(16, 200, log=True),
        "epochs": Int(1, 15),
    }
)
SVC_SPACE = Space(
    {
        "kernel": Categorical(["rbf", "poly", "sigmoid"]),
        "C": Float(1e-3, 100.0, log=True),
        "gamma": Float(1e-5, 1.0, log=True),
        "coef0": Float(-1.0, 2.0),
        "degree": Int(2, 4),
    }
)


@lru_cache(maxsize=4)
def _data(name: str) -> tuple[Array, Array]:
    X, y = getattr(need("tuning", "sklearn.datasets"), f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(y))
    return np.asarray(X, dtype=np.float64)[order], np.asarray(y, dtype=np.float64)[order]


def _standardised(X: Array, train: Index) -> Array:
    out: Array = (X - X[train].mean(0)) / np.maximum(X[train].std(0), 1e-12)
    return out


def _log_loss(probability: Array, label: Array) -> float:  # (n, classes), (n,) class indices
    right = probability[np.arange(len(label)), label.astype(int)]
    return float(np.mean(np.minimum(-np.log(np.maximum(right, 1e-300)), LOG_LOSS_CAP)))


def _minus_rmse(make: Callable[[], Any], k: int) -> float:
    """Cross-validated on the diabetes data; the target has unit variance, so that a constant scores about -1."""
    X, y = _data("diabetes")
    y = (y - y.mean()) / y.std()
    squares = []
    for train, test in folds(len(y), k):
        Z = _standardised(X, train)
        squares.append((make().fit(Z[train], y[train]).predict(Z[test]) - y[test]) ** 2)
    return -min(float(np.sqrt(np.mean(np.concatenate(squares)))), RMSE_CAP)


def svr_diabetes(params: Mapping[str, Any]) -> float:
    from sklearn.svm import SVR

    return _minus_rmse(partial(SVR, **params), 3)


def gbt_diabetes(params: Mapping[str, Any]) -> float:
    from sklearn.ensemble import GradientBoostingRegressor

    return _minus_rmse(partial(GradientBoostingRegressor, random_state=MODEL_SEED, **params), 2)


def knn_wine(params: Mapping[str, Any]) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    X, y = _data("wine")
    classes = np.eye(3)[y.astype(int)]
    score = 0.0
    for train, test in folds(len(y), 5):
        Z = _scaled(X, train, params["scaling"])
        centre = Z[train].mean(0)
        axes = np.linalg.svd(Z[train] - centre, full_matrices=False)[2][: params["components"]]
        Z = (Z - centre) @ axes.T
        model = KNeighborsClassifier(params["n_neighbors"], weights=params["weights"], p=params["p"])
        probability = model.fit(Z[train], y[train]).predict_proba(Z[test])
        score += float(((probability - classes[test]) ** 2).sum())
    return -score / len(y)


def _scaled(X: Array, train: Index, scaling: str) -> Array:
    if scaling == "standard":
        return _standardised(X, train)
    if scaling == "minmax":
        low, high = X[train].min(0), X[train].max(0)
        X = (X - low) / (high - low)
    if scaling == "rank":
        ordered = np.sort(X[train], axis=0)
        return np.column_stack([np.searchsorted(o, x) for o, x in zip(ordered.T, X.T, strict=True)]) / len(train)
    return X


def sgd_cancer(params: Mapping[str, Any]) -> float:
    from sklearn.linear_model import SGDClassifier

    X, y = _data("breast_cancer")
    total = 0.0
    for train, test in folds(len(y), 3):
        Z = _standardised(X, train)
        model = SGDClassifier(
            loss="log_loss",
            penalty=params["penalty"],
            alpha=params["alpha"],
            l1_ratio=params["l1_ratio"],
            eta0=params["eta0"],
            learning_rate=params["schedule"],
            max_iter=params["epochs"],
            tol=None,
            random_state=MODEL_SEED,
        )
        probability = model.fit(Z[train], y[train]).predict_proba(Z[test])
        total += len(test) * _log_loss(probability, y[test])
    return -total / len(y)


def _digits() -> tuple[Array, Array, Array, Array]:
    X, y = _data("digits")
    end = DIGITS_TRAIN + DIGITS_TEST
    return X[:DIGITS_TRAIN] / 16.0, y[:DIGITS_TRAIN], X[DIGITS_TRAIN:end] / 16.0, y[DIGITS_TRAIN:end]


def kernel_digits(params: Mapping[str, Any]) -> float:
    from sklearn.kernel_ridge import KernelRidge

    X, y, X_test, y_test = _digits()
    X, X_test = X ** params["contrast"], X_test ** params["contrast"]
    centre = X.mean(0)
    axes = np.linalg.svd(X - centre, full_matrices=False)[2][: params["components"]]
    model = KernelRidge(
        kernel=params["kernel"], alpha=params["alpha"], gamma=params["gamma"], degree=params["degree"], coef0=1.0
    )
    one_hot = np.eye(10)
    model.fit((X - centre) @ axes.T, one_hot[y.astype(int)] - 0.1)
    predicted = model.predict((X_test - centre) @ axes.T) + 0.1
    return -min(float(((predicted - one_hot[y_test.astype(int)]) ** 2).sum(-1).mean()), RMSE_CAP)


def mlp_digits(params: Mapping[str, Any]) -> float:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    X, y, X_test, y_test = _digits()
    model = MLPClassifier(
        (params["hidden"],),
        activation=params["activation"],
        solver=params["solver"],
        learning_rate_init=params["learning_rate_init"],
        alpha=params["alpha"],
        batch_size=params["batch_size"],
        max_iter=params["epochs"],
        random_state=MODEL_SEED,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few epochs are the point
        model.fit(X, y)
    return -_log_loss(model.predict_proba(X_test), y_test)


def svc_cancer(params: Mapping[str, Any]) -> float:
    from sklearn.svm import SVC

    X, y = _data("breast_cancer")
    total = 0.0
    for train, test in folds(len(y), 3):
        Z = _standardised(X, train)
        decision = SVC(**params).fit(Z[train], y[train]).decision_function(Z[test])
        margin = np.where(y[test] == 1.0, decision, -decision)
        total += float(np.minimum(np.logaddexp(0.0, -margin), LOG_LOSS_CAP).sum())
    return -total / len(y)


def _make(seed: int, *, name: str, space: Space, point: Callable[[Mapping[str, Any]], float]) -> Problem:
    """The same problem for every seed."""
    del seed
    need(name, "sklearn.datasets")
    optimum, argmax = BEST[name]
    return Problem(
        name=name,
        space=space,
        function=row_by_row(space, point),
        optimum=optimum,
        argmax=argmax,
        best_known=True,
    )


def _factories(*problems: tuple[str, Space, Callable[[Mapping[str, Any]], float]]) -> dict[str, Factory]:
    return {name: partial(_make, name=name, space=space, point=point) for name, space, point in problems}


REPORTING: dict[str, Factory] = _factories(
    ("SVRDiabetes", SVR_SPACE, svr_diabetes),
    ("GBTDiabetes", GBT_SPACE, gbt_diabetes),
    ("KNNWine", KNN_SPACE, knn_wine),
    ("SGDCancer", SGD_SPACE, sgd_cancer),
    ("KernelDigits", KERNEL_SPACE, kernel_digits),
)
CHOOSING: dict[str, Factory] = _factories(
    ("MLPDigits", NET_SPACE, mlp_digits),
    ("SVCCancer", SVC_SPACE, svc_cancer),
)
