"""What the fuzz script draws: spaces and changes of them, metrics, outcomes and settings, legal ones and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ccgbo import (
    AtLeast,
    AtMost,
    Between,
    Bool,
    Categorical,
    Fixed,
    Float,
    Int,
    LinearConstraint,
    Metrics,
    NormalPrior,
    Space,
)

Rng = np.random.Generator

STRANGE = (
    0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1.7e308, -1.7e308, 1e-300, -1e-300, 5e-324, 1e12, -1e12, 1e-12,
    np.float32(0.1), np.int64(3), np.array([2.5]), 7, 10**30, [1.0, 2.0], np.array([1e300, -1e300]), (1.0, 0.5),
)  # fmt: skip
FAILING = (math.nan, math.inf, -math.inf, np.nan, np.float32("inf"), 10**400, -(10**400))
REFUSED = ("text", None, True, b"1", 1j, object(), [1.0, math.nan], (1.0, -2.0), {"a": 1.0}, np.ones((2, 2)))
ACQUISITIONS = ("ucb", "ei", "logei", "ts", "mes", "jes")
NAMES = ("a", "b", "the yield, in %", "ü", "value", "x/y")  # of metrics
BOUNDS = (0.0, 0.5, -1.0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308)


# -- spaces


def draw_number(rng: Rng) -> Any:
    low = float(rng.choice([0.0, 1.0, -5.0, 1e-9, 1e6, -1e300, 1e-200, 3.7]))
    kinds: list[Callable[[], Any]] = [
        lambda: (0.0, 1.0),
        lambda: (1, int(rng.integers(1, 9))),
        lambda: Float(low, low + max(abs(low), 1.0) * float(rng.choice([1e-3, 1.0, 1e3]))),
        lambda: Float(low, low),
        lambda: Float(10.0 ** rng.uniform(-300, 0), 10.0 ** rng.uniform(1, 300), log=True),
        lambda: Float(0.0, 1.0, step=float(rng.choice([0.1, 0.25, 0.3, 2.0]))),
        lambda: Int(-3, int(rng.integers(-3, 40)), step=int(rng.integers(1, 4))),
        lambda: Int(1, int(10 ** rng.integers(1, 12)), log=True),
        lambda: Int(0, 2**40),
    ]
    return kinds[rng.integers(len(kinds))]()


def draw_parameter(rng: Rng) -> Any:
    choices = ["a", "b", None, 3, 2.5, True, "ü\n\"'", ""]
    kinds: list[Callable[[], Any]] = [
        lambda: draw_number(rng),
        lambda: Categorical(choices[: rng.integers(1, len(choices) + 1)]),
        Bool,
        lambda: Fixed("constant"),
    ]
    return kinds[rng.choice(len(kinds), p=[0.6, 0.25, 0.1, 0.05])]()


def draw_space(rng: Rng) -> Space:
    parameters = {f"p{i}": draw_parameter(rng) for i in range(rng.integers(1, 5))}
    if rng.random() < 0.3:
        parameters["kind"] = Categorical(["x", "y", "z"])
        parameters["child"] = Float(0.0, 2.0, active_if={"kind": ["x", "y"]})
        parameters["grandchild"] = Int(1, 5, active_if={"kind": "x"})
    constraints: list[Any] = []
    plain = [name for name, p in Space(parameters).items() if not isinstance(p, Categorical)]
    if plain and rng.random() < 0.25:
        p = Space(parameters)[plain[0]]
        constraints.append(LinearConstraint({plain[0]: 1.0}, upper=float(p.low) + 0.7 * float(p.high - p.low)))
    if rng.random() < 0.15:
        constraints.append(lambda params: len(repr(sorted(params.items(), key=str))) % 3 != 0)
    if rng.random() < 0.02:
        constraints.append(lambda _: False)
    return Space(parameters, constraints=constraints)


def draw_change(rng: Rng, old: Space) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a space with one of them changed, and how that is meant."""
    table, name = dict(old), old.names[rng.integers(old.d)]
    p, kind = table[name], str(rng.choice(["wider", "narrower", "rename", "marginal", "fixed", "new"]))
    if kind == "new":
        return {**table, f"new{len(table)}": Float(0.0, 1.0)}, {"defaults": {f"new{len(table)}": rng.uniform(0, 1.5)}}
    if kind == "rename":
        table = {(f"{name}_" if key == name else key): value for key, value in table.items()}
        return table, {"rename": {name: f"{name}_"}}
    if kind in ("marginal", "fixed"):
        del table[name]
        return table, {"marginal": [name]} if kind == "marginal" else {"fixed": {name: p.from_unit(rng.random())}}
    if isinstance(p, Categorical):
        table[name] = replace(p, choices=p.choices[:-1] if kind == "narrower" else [*p.choices, f"new{p.size}"])
    else:
        table[name] = replace(p, high=p.from_unit(0.6) if kind == "narrower" else p.high + (p.high - p.low))
    return table, {}


# -- metrics


def draw_metrics(rng: Rng) -> dict[str, Any]:
    """One value, or one to three objectives and up to three bounds, as an optimizer takes them."""
    if rng.random() < 0.3:
        return {"direction": _direction(rng)}
    names = [str(name) for name in rng.permutation(NAMES)]
    m, k = int(rng.choice([1, 2, 3], p=[0.4, 0.4, 0.2])), int(rng.integers(0, 4))
    first = int(rng.choice([0, m], p=[0.2, 0.8]))  # a bound may be that of an objective
    return {
        "objectives": {name: _direction(rng) for name in names[:m]},
        "outcome_constraints": {name: draw_bound(rng) for name in names[first : first + k]},
    }


def _direction(rng: Rng) -> str:
    return str(rng.choice(["maximize", "minimize"]))


def draw_bound(rng: Rng) -> Between:
    one = float(rng.choice(BOUNDS)) if rng.random() < 0.3 else float(rng.standard_normal())
    other = one + float(rng.choice([1e-9, 1.0, 1e3]))
    kinds: list[Callable[[], Between]] = [lambda: AtMost(one), lambda: AtLeast(one), lambda: Between(one, other)]
    return kinds[rng.integers(3 if one < other else 2)]()


Function = Callable[[np.ndarray], Any]  # of a position in the unit cube


def draw_function(rng: Rng) -> Function:
    """What is measured: something smooth of any size, nothing but noise, a constant, or whatever there is."""
    scale = float(10.0 ** rng.choice([0, 0, 0, 6, -6, 299, -299]))
    shift, kind = float(rng.standard_normal()), str(rng.choice(["smooth", "smooth", "noise", "constant", "strange"]))
    functions: dict[str, Function] = {
        "smooth": lambda u: scale * (shift + float(np.cos(3.0 * u + shift).sum()) / len(u)),
        "noise": lambda _: scale * float(rng.standard_normal()),
        "constant": lambda _: scale * shift,
        "strange": lambda _: STRANGE[rng.integers(len(STRANGE))],
    }
    return functions[kind]


def finite(value: Any) -> float | None:
    """The number that a metric is after it was told; None where it counts as not measured."""
    if isinstance(value, tuple):
        return float(value[0])
    if isinstance(value, list | np.ndarray):
        return math.fsum(value) / len(value)
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def brute_force_front(rows: Mapping[int, Mapping[str, float]], metrics: Metrics) -> set[int]:
    """Which of some feasible trials with every objective no other is better than, by trying all pairs."""
    goals = [(name, metrics.sign(name)) for name in metrics.objectives]
    signed = {i: [sign * row[name] for name, sign in goals] for i, row in rows.items()}
    return {i for i, a in signed.items() if not any(_beats(b, a) for b in signed.values())}


def _beats(one: Iterable[float], other: Iterable[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


# -- settings


def draw_settings(rng: Rng, space: Space, metrics: Metrics) -> dict[str, Any]:
    several = len(metrics.objectives) > 1
    fields = ["knn", "knn-scaled", "smooth"] if metrics.simple else ["knn", "knn-scaled"]
    settings: dict[str, Any] = {
        "preset": str(rng.choice(["default", "paper"])),
        "acquisition": str(rng.choice(["ehvi", "scalarized"] if several else ACQUISITIONS)),
        "outcome_transform": str(rng.choice(["standardize", "robust"])),
        "pending": str(rng.choice(["kriging_believer", "fantasy"])),
        "design": str(rng.choice(["sobol", "lhs", "random"])),
        "allow_repeats": bool(rng.random() < 0.2),
        "noise": str(rng.choice(["unknown", "unknown", "none"])),
        "n_initial": int(rng.integers(1, 6)),
        "seed": int(rng.integers(2**31)),
        "tuning": {"n_candidates": 64, "n_local": 16, "n_starts": int(rng.integers(0, 3)), "search_steps": 8},
        "credit": bool(rng.random() < 0.8) and {"field": str(rng.choice(fields))},
    }
    if rng.random() < 0.3 and not (several and settings["preset"] == "paper"):  # which has one of a single objective
        del settings["acquisition"]
    if rng.random() < 0.15:
        settings |= {"surrogate": "stacked", "credit": {"field": "knn"}}  # a mixture has no kernel
    elif rng.random() < 0.15:  # a forest makes no joint predictions
        settings |= {"surrogate": "forest", "acquisition": "ehvi" if several else "logei", "credit": False}
    if rng.random() < 0.2:
        name = space.names[0]
        p = space[name]
        belief: Any = {p.choices[0]: 1.0} if isinstance(p, Categorical) else NormalPrior(float(p.low), 1.0)
        settings["prior"] = {name: belief} if rng.random() < 0.5 else lambda params: float(len(repr(params)) % 7)
    return settings
