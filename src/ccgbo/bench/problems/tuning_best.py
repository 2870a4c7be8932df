"""Best values found for the tuning problems and where; see tuning.py for how."""

from __future__ import annotations

from typing import Any

BEST: dict[str, tuple[float, dict[str, Any]]] = {
    "SVRDiabetes": (
        -0.6921242447258519,
        {
            "kernel": "sigmoid",
            "C": 0.1381129869490701,
            "gamma": 0.126448742919536,
            "epsilon": 0.011812034437566208,
            "coef0": -0.6240922604174792,
        },
    ),
    "GBTDiabetes": (
        -0.7007678919519986,
        {
            "learning_rate": 0.14672609562711725,
            "n_estimators": 40,
            "max_depth": 2,
            "subsample": 0.32488108573802416,
            "min_samples_leaf": 8,
            "max_features": 0.7604972364207683,
            "loss": "squared_error",
        },
    ),
    "KNNWine": (
        -0.04119850187265918,
        {"n_neighbors": 3, "weights": "uniform", "p": 5.923124952346955, "scaling": "standard", "components": 6},
    ),
    "SGDCancer": (
        -0.05934714454865489,
        {
            "penalty": "elasticnet",
            "alpha": 0.0005297588781739324,
            "l1_ratio": 0.5608181203280476,
            "eta0": 0.14818157488553402,
            "schedule": "adaptive",
            "epochs": 8,
        },
    ),
    "KernelDigits": (
        -0.0814392200385889,
        {
            "kernel": "rbf",
            "alpha": 1.1039342556254927e-06,
            "gamma": 0.36319097140084666,
            "degree": 4,
            "components": 17,
            "contrast": 0.9720028302651733,
        },
    ),
    "MLPDigits": (
        -0.13855368165072235,
        {
            "hidden": 30,
            "activation": "logistic",
            "solver": "sgd",
            "learning_rate_init": 0.8532253347990238,
            "alpha": 0.000180154841121927,
            "batch_size": 31,
            "epochs": 15,
        },
    ),
    "SVCCancer": (
        -0.10078532934945898,
        {
            "kernel": "poly",
            "C": 36.35309520258119,
            "gamma": 0.007659870169593709,
            "coef0": 1.5436693342999819,
            "degree": 4,
        },
    ),
}
