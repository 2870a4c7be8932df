"""What a sampler of Optuna takes into account, found out by trying: does its next suggestion depend on it?

Used by optuna_swap.py for the first table of docs/integrations/optuna.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

Make = Callable[..., optuna.samplers.BaseSampler]
Probe = Callable[[Make], bool]

X = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
BRANCH = {"kind": CategoricalDistribution(["a", "b"])}
SEEDS = range(4)  # a suggestion may be the same by chance
N = 24  # complete trials that a suggestion is made from


def _study(make: Make, seed: int, directions: int = 1) -> optuna.Study:
    return optuna.create_study(directions=["minimize"] * directions, sampler=make(seed=seed))


def _complete(study: optuna.Study, value: Callable[[dict[str, float]], float]) -> None:
    for i in range(N):
        params = {"x": (0.37 * i) % 1.0, "y": (0.61 * i) % 1.0}
        study.add_trial(create_trial(params=params, distributions=dict(X), value=value(params)))


def _differs(make: Make, add: Callable[[optuna.Study, float], None]) -> bool:
    """Whether the next suggestion depends on where ``add`` puts its trials."""

    def suggestion(seed: int, at: float) -> dict[str, Any]:
        study = _study(make, seed)
        _complete(study, lambda p: (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2)
        add(study, at)
        return study.ask(fixed_distributions=dict(X)).params

    return any(suggestion(seed, 0.25) != suggestion(seed, 0.35) for seed in SEEDS)


def failed(study: optuna.Study, at: float) -> None:
    point = {"x": at, "y": 0.6}
    for _ in range(3):
        study.add_trial(create_trial(state=TrialState.FAIL, params=point, distributions=dict(X)))


def pruned(study: optuna.Study, at: float) -> None:
    for i in range(6):
        point, value = {"x": at, "y": 0.1 * i}, 1.0 + 0.1 * i
        study.add_trial(
            create_trial(
                state=TrialState.PRUNED,
                params=point,
                distributions=dict(X),
                value=value,
                intermediate_values={0: value},
            )
        )


def running(study: optuna.Study, at: float) -> None:
    study.enqueue_trial({"x": at, "y": 0.6})
    study.ask(fixed_distributions=dict(X))


def branches(make: Make) -> bool:
    """Whether a parameter that only one branch has is suggested by the values seen in that branch."""

    def suggestion(seed: int, best: float) -> float:
        study = _study(make, seed)
        for i in range(2 * N):
            u, kind = (0.37 * i) % 1.0, "ab"[i % 2]
            distributions: dict[str, BaseDistribution] = dict(BRANCH)
            params: dict[str, Any] = {"kind": kind}
            if kind == "a":
                distributions["u"], params["u"] = FloatDistribution(0.0, 1.0), u
            value = (u - best) ** 2 if kind == "a" else 1.0
            study.add_trial(create_trial(params=params, distributions=distributions, value=value))
        study.enqueue_trial({"kind": "a"})
        return study.ask(fixed_distributions={**BRANCH, "u": FloatDistribution(0.0, 1.0)}).params["u"]

    return any(suggestion(seed, 0.2) != suggestion(seed, 0.8) for seed in SEEDS)


def directions(make: Make) -> bool:
    """Whether a study with two objectives runs."""
    study = _study(make, 0, directions=2)
    try:
        study.optimize(lambda t: (t.suggest_float("x", 0.0, 1.0), t.suggest_float("y", 0.0, 1.0)), n_trials=12)
    except ValueError:
        return False
    return True


def constraints_func(make: Make) -> bool:
    """Whether the sampler takes Optuna's ``constraints_func``."""
    try:
        make(seed=0, constraints_func=lambda _: (0.0,))
    except (TypeError, ValueError):
        return False
    return True


def resumes(make: Make) -> bool:
    """Whether a study resumed with a new sampler of the same seed goes on as if it had not stopped."""

    def run(parts: tuple[int, ...]) -> list[dict[str, Any]]:
        study = _study(make, 0)
        for n in parts:
            study.sampler = make(seed=0)
            study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0) ** 2 + t.suggest_float("y", 0.0, 1.0), n_trials=n)
        return [t.params for t in study.trials]

    return run((16,)) == run((7, 9))


PROBES: dict[str, Probe] = {
    "parameters of a branch are modelled": branches,
    "pruned trials count": lambda make: _differs(make, pruned),
    "failed trials are avoided": lambda make: _differs(make, failed),
    "running trials count": lambda make: _differs(make, running),
    "a resumed study goes on as if it had not stopped": resumes,
    "several objectives (`directions`)": directions,
    "`constraints_func`": constraints_func,
}


def support(samplers: dict[str, Make]) -> dict[str, dict[str, bool]]:
    """For each feature, which sampler has it."""
    return {name: {label: probe(make) for label, make in samplers.items()} for name, probe in PROBES.items()}
