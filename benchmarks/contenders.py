"""Optimizers behind one ask/tell face, so that one loop measures them all.

Every contender gets the same initial points and sees the same noise. Peers without mixed spaces search the unit cube
and are evaluated at the nearest point of the space.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ccgbo import UCB, LogEI, Optimizer, Space
from ccgbo.acquisition import get_acquisition
from ccgbo.presets import DEFAULT, Settings
from ccgbo.surrogate.fit import HVARFNER, LengthscalePrior, LogNormal


class Contender(Protocol):
    def tell(self, params: dict[str, Any], value: float) -> None: ...
    def ask(self) -> dict[str, Any]: ...


class Ours:
    def __init__(self, space: Space, seed: int, *, n_initial: int = 1, **settings: Any) -> None:
        self._opt = Optimizer(space, seed=seed, n_initial=n_initial, **settings)
        self._trial: Any = None

    def recommend(self) -> dict[str, Any]:
        return dict(self._opt.recommend().params)

    def tell(self, params: dict[str, Any], value: float) -> None:
        if self._trial is not None:
            self._opt.tell(self._trial, value)
            self._trial = None
        else:
            self._opt.tell(params, value)

    def ask(self) -> dict[str, Any]:
        self._trial = self._opt.ask()
        return dict(self._trial.params)


class Random:
    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng([seed, 99])

    def tell(self, params: dict[str, Any], value: float) -> None:
        pass

    def ask(self) -> dict[str, Any]:
        return self._space.decode(self._space.sample(1, self._rng)[0])


class OptunaSampler:
    def __init__(self, space: Space, seed: int, sampler: str) -> None:
        import optuna
        import torch

        torch.set_num_threads(1)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        made = {
            "gp": lambda: optuna.samplers.GPSampler(seed=seed, n_startup_trials=1),
            "tpe": lambda: optuna.samplers.TPESampler(seed=seed, n_startup_trials=1, multivariate=True),
        }[sampler]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study = optuna.create_study(direction="maximize", sampler=made())
        self._distributions = {name: self._distribution(optuna, p) for name, p in space.items()}
        self._optuna, self._trial = optuna, None

    @staticmethod
    def _distribution(optuna: Any, p: Any) -> Any:
        d = optuna.distributions
        if hasattr(p, "choices"):
            return d.CategoricalDistribution(p.choices)
        if isinstance(p.low, int) and p.step is not None:
            return d.IntDistribution(p.low, p.high, log=p.log, step=p.step)
        return d.FloatDistribution(p.low, p.high, log=p.log, step=p.step)

    def tell(self, params: dict[str, Any], value: float) -> None:
        if self._trial is not None:
            self._study.tell(self._trial, value)
            self._trial = None
            return
        self._study.add_trial(
            self._optuna.trial.create_trial(params=params, distributions=self._distributions, value=value)
        )

    def ask(self) -> dict[str, Any]:
        self._trial = self._study.ask(self._distributions)
        return dict(self._trial.params)  # type: ignore[attr-defined]


class UnitCube:
    """What peers on the unit cube share: points in, points out."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.U: list[np.ndarray] = []
        self.y: list[float] = []

    def tell(self, params: dict[str, Any], value: float) -> None:
        self.U.append(self.space.encode(params))
        self.y.append(value)


class BoTorch(UnitCube):
    """SingleTaskGP with fit_gpytorch_mll, optimize_acqf with 10 restarts and 512 raw samples."""

    def __init__(self, space: Space, seed: int, acquisition: str) -> None:
        import torch

        super().__init__(space)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._acquisition = acquisition

    def ask(self) -> dict[str, Any]:
        import torch
        from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = torch.tensor(np.array(self.U))
            Y = torch.tensor(self.y)[:, None].double()
            Y = (Y - Y.mean()) / Y.std().clamp_min(1e-12)
            model = SingleTaskGP(X, Y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            if self._acquisition == "ucb":
                acqf: Any = UpperConfidenceBound(model, beta=2.576**2)
            else:
                acqf = LogExpectedImprovement(model, best_f=model.posterior(X).mean.max())
            bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
            x, _ = optimize_acqf(acqf, bounds=bounds, q=1, num_restarts=10, raw_samples=512)
        return self.space.decode(x[0].numpy())


class BayesOpt(UnitCube):
    """bayesian-optimization with its default acquisition, UCB with kappa 2.576."""

    def __init__(self, space: Space, seed: int) -> None:
        from bayes_opt import BayesianOptimization
        from bayes_opt.acquisition import UpperConfidenceBound

        super().__init__(space)
        self._names = [f"u{j:03d}" for j in range(space.d)]
        self._bo = BayesianOptimization(
            None,
            dict.fromkeys(self._names, (0.0, 1.0)),
            acquisition_function=UpperConfidenceBound(kappa=2.576),
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )

    def tell(self, params: dict[str, Any], value: float) -> None:
        super().tell(params, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._bo.register(params=dict(zip(self._names, self.U[-1], strict=True)), target=value)

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = self._bo.suggest()
        return self.space.decode(np.array([float(point[name]) for name in self._names]))


class AxClient:
    """Ax with its own default for the experiment (method "fast"); the given points are its initialisation."""

    def __init__(self, space: Space, seed: int) -> None:
        import torch
        from ax.api.client import Client
        from ax.utils.common.logger import set_ax_logger_levels

        torch.set_num_threads(1)
        set_ax_logger_levels(logging.ERROR)
        self._client = Client(random_seed=seed)
        self._client.configure_experiment(parameters=[self._parameter(name, p) for name, p in space.items()])
        self._client.configure_optimization(objective="value")
        self._client.configure_generation_strategy(initialization_budget=1, initialize_with_center=False)
        self._trial: int | None = None

    @staticmethod
    def _parameter(name: str, p: Any) -> Any:
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        if hasattr(p, "choices"):
            kind: Any = {bool: "bool", int: "int", float: "float"}.get(type(p.choices[0]), "str")
            return ChoiceParameterConfig(name=name, values=list(p.choices), parameter_type=kind, is_ordered=False)
        whole = isinstance(p.low, int) and p.step is not None
        return RangeParameterConfig(
            name=name,
            bounds=(p.low, p.high),
            parameter_type="int" if whole else "float",
            step_size=None if whole else p.step,
            scaling="log" if p.log else None,
        )

    def tell(self, params: dict[str, Any], value: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._trial is None:
                self._trial = self._client.attach_trial(parameters=params)
            self._client.complete_trial(trial_index=self._trial, raw_data={"value": value})
        self._trial = None

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ((self._trial, params),) = self._client.get_next_trials(max_trials=1).items()
        return dict(params)


TURNS = DEFAULT.acquisition  # LogEI in turn with JES
SAME = replace(DEFAULT, credit=replace(DEFAULT.credit, strength=0.0))  # the default's surrogate and search, no credit


def variant(preset: str | Settings = DEFAULT, **changes: Any) -> Callable[[Space, int], Contender]:
    return lambda s, k: Ours(s, k, preset=preset, **changes)


CONTENDERS: dict[str, Callable[[Space, int], Contender]] = {
    "default": variant(),
    "default-nocredit": variant(SAME),
    "gp-logei": variant(SAME, acquisition=LogEI()),
    "gp-ucb": variant(SAME, acquisition=UCB(beta=2.576)),
    "gp-ucb-credit": variant(acquisition=UCB(beta=2.576)),
    "gp-ts": variant(SAME, acquisition="ts"),
    "gp-ts-credit": variant(acquisition="ts"),
    "gp-jes": variant(SAME, acquisition="jes"),
    "gp-jes-credit": variant(acquisition="jes"),
    "paper": variant("paper"),
    "random": Random,
    "optuna-gp": lambda s, k: OptunaSampler(s, k, "gp"),
    "optuna-tpe": lambda s, k: OptunaSampler(s, k, "tpe"),
    "botorch-logei": lambda s, k: BoTorch(s, k, "logei"),
    "botorch-ucb": lambda s, k: BoTorch(s, k, "ucb"),
    "bayes-opt": BayesOpt,
    "ax": AxClient,
}

# The size of the initial design, at least 5, 10 and 20: these get none and make their own.
CONTENDERS |= {
    "start 5": lambda s, k: Ours(s, k, n_initial=5),
    "start d + 1": lambda s, k: Ours(s, k, n_initial=max(s.d + 1, 5)),
    "start 2 d": lambda s, k: Ours(s, k, n_initial=max(2 * s.d, 10)),
    "start 4 d": lambda s, k: Ours(s, k, n_initial=max(4 * s.d, 20)),
}

# What the default was chosen among, on the choosing set only: each differs from the default in one thing.
CONTENDERS |= {
    "choice credit 0.5 tau 5": variant(credit={"strength": 0.5, "tau": 5.0}),
    "choice credit 0.9 tau 10": variant(credit={"strength": 0.9, "tau": 10.0}),
    "choice unscaled field": variant(credit={"field": "knn"}),
    "choice smooth field": variant(credit={"field": "smooth"}),
    "choice explore by UCB": variant(acquisition=replace(TURNS, explore=UCB(beta=2.576))),
    "choice explore by TS": variant(acquisition=replace(TURNS, explore=get_acquisition("ts"))),
    "choice every third explores": variant(acquisition=replace(TURNS, period=3)),
    "choice explore among choices": variant(acquisition=replace(TURNS, in_mixed=True)),
    "choice LogEI with credit": variant(acquisition=LogEI(), credit={"strength": 1.0, "tau": 20.0}),
    "choice UCB 1.5 without credit": variant(SAME, acquisition=UCB(beta=1.5)),
    "choice UCB always guided": variant(acquisition=UCB(beta=2.576), credit={"credit_when": "always"}),
    "choice TS always guided": variant(acquisition="ts", credit={"credit_when": "always"}),
    "choice standardize": variant(outcome="standardize"),
    "choice no trend": variant(fit={"trend_prior": None}),
    "choice more noise expected": variant(fit={"noise_prior": LogNormal(mean=-4.0, sd=1.5)}),
    "choice no noise prior": variant(fit={"noise_prior": None}),
    "choice wider noise prior": variant(fit={"noise_prior": LogNormal(mean=-4.0, sd=3.0)}),
    "choice one prior for all": variant(fit={"lengthscale_prior": LengthscalePrior(choice_sd=0.3)}),
    "choice tight prior": variant(fit={"lengthscale_prior": LengthscalePrior(trend_sd=0.3)}),
    "choice loose prior": variant(fit={"lengthscale_prior": LengthscalePrior(each_sd=1.0)}),
    "choice independent prior": variant(fit={"lengthscale_prior": HVARFNER}),
}
