"""Spaces of numbers and choices, for choosing defaults: nothing here is reported on.

    problem         what it is                                                        parameters
    Reaction4       net yield of a reaction A -> B -> C, less its costs                3 numbers, 1 categorical
    MixedAckley6    Ackley's function over switches, a whole number and numbers        3 switches, 1 integer, 2 numbers
    Func3C          a choice among three formulas of two numbers (Ru et al. 2020)      1 categorical, 2 numbers
    TreeFriedman5   a regression tree on Friedman's first function, minus RMSE         2 categoricals, 3 numbers

The optima of Reaction4, Func3C and MixedAckley6 are computed to rounding; that of TreeFriedman5 is the best that
``search_space(problem, n_random=3000, n_local=3000, seed=s)`` found with s = 0 and with s = 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems import formulas
from ccgbo.bench.problems.base import Factory, Problem, Rows, folds, need, negated, row_by_row
from ccgbo.space import Categorical, Float, Int, Space

# -- Reaction4

SOLVENTS = {"water": (1.0, 1.0), "ethanol": (1.6, 1.2), "toluene": (0.7, 0.3)}  # factors on the two rates
REACTION = Space(
    {
        "temperature": Float(280.0, 420.0),  # K
        "minutes": Float(1.0, 600.0, log=True),
        "catalyst": Float(0.1, 10.0, log=True),  # mol %
        "solvent": Categorical(list(SOLVENTS)),
    }
)


def net_yield(temperature: float, minutes: float, catalyst: float, solvent: str) -> float:
    """The yield in percent, less 2 for each hour and 1 for each percent of catalyst."""
    first, second = SOLVENTS[solvent]
    k1 = first * math.sqrt(catalyst) * arrhenius(4.0e7, 60_000.0, temperature)  # per minute
    k2 = second * arrhenius(1.0e10, 82_000.0, temperature)
    return 100.0 * share_of_product(k1, k2, minutes) - 2.0 * minutes / 60.0 - catalyst


def arrhenius(factor: float, energy: float, temperature: float) -> float:
    """A rate: k = A exp(-E / RT), with E in J/mol."""
    return factor * math.exp(-energy / (8.314 * temperature))


def share_of_product(k1: float, k2: float, t: float) -> float:
    """Share of B after a time t in A -> B -> C: k1 / (k2 - k1) * (exp(-k1 t) - exp(-k2 t))."""
    if math.isclose(k1, k2, rel_tol=1e-9):
        return k1 * t * math.exp(-k1 * t)
    return k1 / (k2 - k1) * (math.exp(-k1 * t) - math.exp(-k2 * t))


# -- MixedAckley6

SWITCHES = Space(
    {
        **{f"s{j}": Categorical(["off", "on"]) for j in (1, 2, 3)},
        "k": Int(-3, 6),
        "x": Float(-3.0, 6.0),
        "z": Float(-3.0, 6.0),
    }
)


# -- Func3C

THREE = Space({"formula": Categorical(["rosenbrock", "camel", "beale"]), "x": Float(-2.0, 2.0), "z": Float(-2.0, 2.0)})


def func3c(X: Array) -> Array:  # rows in own units: a choice by its index
    which, x = X[:, 0], X[:, 1:]
    values = (formulas.rosenbrock(x) / 300.0, formulas.camel(x) / 10.0, formulas.beale(x) / 50.0)
    return -np.choose(which.astype(int), values)


# -- TreeFriedman5

TREE = Space(
    {
        "criterion": Categorical(["squared_error", "absolute_error"]),
        "splitter": Categorical(["best", "random"]),
        "max_depth": Int(1, 20, log=True),
        "min_samples_leaf": Int(1, 50, log=True),
        "ccp_alpha": Float(1e-4, 1.0, log=True),
    }
)


@lru_cache(maxsize=1)
def _friedman() -> tuple[Array, Array]:
    """Four hundred rows of ten inputs, five of which matter, with noise of standard deviation one (Friedman 1991)."""
    rng = np.random.default_rng(1991)
    X = rng.random((400, 10))
    return X, formulas.friedman(X[:, :5]) + rng.standard_normal(400)


def tree_friedman(params: Mapping[str, Any]) -> float:
    from sklearn.tree import DecisionTreeRegressor

    X, y = _friedman()
    errors = []
    for train, test in folds(len(y), 4):
        model = DecisionTreeRegressor(random_state=0, **params).fit(X[train], y[train])
        errors.append((model.predict(X[test]) - y[test]) ** 2)
    return -float(np.sqrt(np.mean(np.concatenate(errors))))


def _problem(seed: int, *, name: str, space: Space, function: Rows, optimum: float, argmax: tuple[Any, ...]) -> Problem:
    """The same problem for every seed."""
    del seed
    where = dict(zip(space, argmax, strict=True))
    return Problem(name=name, space=space, function=function, optimum=optimum, argmax=where)


def _tree_friedman5(seed: int) -> Problem:
    need("TreeFriedman5", "sklearn.tree")
    problem = _problem(
        seed,
        name="TreeFriedman5",
        space=TREE,
        function=row_by_row(TREE, tree_friedman),
        optimum=-3.0427564436065424,
        argmax=("absolute_error", "best", 20, 13, 0.01),
    )
    return replace(problem, best_known=True)


def _reaction(params: Mapping[str, Any]) -> float:
    return net_yield(**params)


CHOOSING: dict[str, Factory] = {
    name: partial(_problem, name=name, space=space, function=function, optimum=optimum, argmax=argmax)
    for name, space, function, optimum, argmax in (
        (
            "Reaction4",
            REACTION,
            row_by_row(REACTION, _reaction),
            84.36825604522,
            (346.92570613, math.exp(4.20160084), math.exp(1.42293312), "toluene"),
        ),
        ("MixedAckley6", SWITCHES, negated(formulas.ackley, 6), 0.0, ("off", "off", "off", 0, 0.0, 0.0)),
        ("Func3C", THREE, func3c, 0.10316284534899, ("camel", 0.08984201, -0.7126564)),
    )
}
CHOOSING["TreeFriedman5"] = _tree_friedman5
