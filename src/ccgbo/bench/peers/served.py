"""Peers that are served over a pipe from an environment of their own: the unit cube, maximised, noisy.

    python -P served.py        reads one line of JSON for each call, answers one that begins with @@

This file is run by the peer's own interpreter, so it imports nothing of ccgbo and a peer's library only when that peer
is made. ``remote.py`` is the other end, ``environments.py`` says what each environment holds.

The first points are told by the benchmark, so no peer makes an initial design of its own. A tell that follows an ask
answers it. Traps that were met are commented where they are avoided.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import numpy as np

Vector = Any  # (d,) of floats


class Served:
    """What the peers share: the data, and points clipped to the cube."""

    def __init__(self, d: int, seed: int) -> None:
        self.d, self.seed = d, seed
        self.names = [f"x{j:04d}" for j in range(d)]
        self.X: list[Vector] = []
        self.y: list[float] = []
        self._token: Any = None  # what ask() was given and tell() has not answered yet

    def tell(self, x: Vector, y: float) -> None:
        u = np.asarray(x, dtype=float)
        self.X.append(u)
        self.y.append(float(y))
        token, self._token = self._token, None
        with warnings.catch_warnings(action="ignore"):
            self.learn(u, float(y), token)

    def ask(self) -> Vector:
        with warnings.catch_warnings(action="ignore"):
            x, self._token = self.propose()
        return np.clip(np.asarray(x, dtype=float).reshape(self.d), 0.0, 1.0)

    def learn(self, x: Vector, y: float, token: Any) -> None:
        """Most peers look at the data when asked."""

    def propose(self) -> tuple[Vector, Any]:
        raise NotImplementedError


class Cmaes(Served):
    """cmaes: mean at the best given point, sigma 0.3; when it stops, twice the population from a random point."""

    def __init__(self, d: int, seed: int) -> None:
        super().__init__(d, seed)
        self._strategy: Any = None
        self._generation: list[tuple[Vector, float]] = []

    def _begin(self, mean: Vector, population: int | None) -> None:
        import cmaes

        bounds = np.tile([0.0, 1.0], (self.d, 1))
        seed = self.seed + len(self.y)
        self._strategy = cmaes.CMA(mean=mean, sigma=0.3, bounds=bounds, seed=seed, population_size=population)

    def learn(self, x: Vector, y: float, token: Any) -> None:
        if token is None:
            return
        self._generation.append((x, -y))
        if len(self._generation) == self._strategy.population_size:
            self._strategy.tell(self._generation)
            self._generation = []
            if self._strategy.should_stop():
                rng = np.random.default_rng([self.seed, len(self.y)])
                self._begin(rng.random(self.d), 2 * self._strategy.population_size)

    def propose(self) -> tuple[Vector, Any]:
        if self._strategy is None:
            self._begin(np.array(self.X[int(np.argmax(self.y))]) if self.y else np.full(self.d, 0.5), None)
        return self._strategy.ask(), "asked"


def _once(make: Callable[..., Any]) -> Callable[..., Any]:
    """What ``make`` gives when it is first called, at every call."""
    made: list[Any] = []

    def first(*arguments: Any, **options: Any) -> Any:
        if not made:
            made.append(make(*arguments, **options))
        return made[0]

    return first


class Vizier(Served):
    """Google Vizier's GP bandit with UCB-PE, what its service calls DEFAULT, without the service.

    Float64 as the service sets it: in float32 UCB-PE returns NaN. Trials are padded to powers of two, Vizier's own
    option against compiling again at every n; what was compiled is kept beside the environment. The model and the
    search, which hold no data, are made once: made anew at every suggestion, as Vizier does, JAX traces every function
    of theirs again. The suggestions are the same to the bit, in three fifths of the time.
    """

    def __init__(self, d: int, seed: int) -> None:
        super().__init__(d, seed)
        one_thread = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ.setdefault("XLA_FLAGS", one_thread)
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_compilation_cache_dir", str(Path(sys.prefix) / "jax-cache"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        logging.getLogger("absl").setLevel(logging.ERROR)
        from vizier import algorithms as vza
        from vizier import pyvizier as vz
        from vizier._src.algorithms.designers import gp_ucb_pe
        from vizier._src.jax.models.tuned_gp_models import VizierGaussianProcess
        from vizier.pyvizier.converters import padding

        self._vz, self._vza = vz, vza
        problem = vz.ProblemStatement()
        for name in self.names:
            problem.search_space.root.add_float_param(name, 0.0, 1.0)
        problem.metric_information.append(vz.MetricInformation("y", goal=vz.ObjectiveMetricGoal.MAXIMIZE))
        schedule = padding.PaddingSchedule(num_trials=padding.PaddingType.POWERS_OF_2)
        bandit = gp_ucb_pe.VizierGPUCBPEBandit
        self._designer = bandit(
            problem,
            rng=jax.random.PRNGKey(seed),
            padding_schedule=schedule,
            num_seed_trials=1,
            acquisition_optimizer_factory=_once(bandit.default_acquisition_optimizer_factory),
            gp_model_class=SimpleNamespace(build_model=_once(VizierGaussianProcess.build_model)),
        )
        self._new: list[Any] = []

    def learn(self, x: Vector, y: float, token: Any) -> None:
        del token
        trial = self._vz.Trial(id=len(self.y), parameters=dict(zip(self.names, map(float, x), strict=True)))
        trial.complete(self._vz.Measurement({"y": y}))
        self._new.append(trial)

    def propose(self) -> tuple[Vector, Any]:
        if self._new:
            self._designer.update(self._vza.CompletedTrials(self._new), self._vza.ActiveTrials())
            self._new = []
        (suggestion,) = self._designer.suggest(1)
        return [suggestion.parameters[name].value for name in self.names], None


class Hebo(Served):
    """HEBO with its defaults: a warped GP, and MACE searched by NSGA-II.

    Two thirds of its time were two loops of pymoo in Python, over all pairs of 100 individuals; the same is done by
    arrays here (pymoo_loops.py). The suggestions are the same to the bit, in less than half the time.
    """

    def __init__(self, d: int, seed: int) -> None:
        super().__init__(d, seed)
        import pandas as pd
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO
        from pymoo.config import Config
        from pymoo.core.mixed import MixedVariableDuplicateElimination
        from pymoo.util.nds import fast_non_dominated_sort

        Config.warnings["not_compiled"] = False
        by_arrays = run_path(str(Path(__file__).with_name("pymoo_loops.py")))
        MixedVariableDuplicateElimination._do = staticmethod(by_arrays["later_twins"])
        fast_non_dominated_sort.fast_non_dominated_sort = by_arrays["fronts"]
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002  MACE's search draws from the global generator
        self._frame = pd.DataFrame
        space = DesignSpace().parse([{"name": name, "type": "num", "lb": 0.0, "ub": 1.0} for name in self.names])
        self._optimizer = HEBO(space, rand_sample=1, scramble_seed=seed)

    def learn(self, x: Vector, y: float, token: Any) -> None:
        del token
        self._optimizer.observe(self._frame([x], columns=self.names), np.array([[-y]]))

    def propose(self) -> tuple[Vector, Any]:
        return self._optimizer.suggest(n_suggestions=1)[self.names].to_numpy(float)[0], None


def _never_called(config: Any, seed: int = 0) -> float:
    """SMAC looks at the arguments of the function that it would call."""
    raise NotImplementedError(f"{config} {seed}")


class Smac(Served):
    """SMAC3's BlackBoxFacade (GP, EI), every configuration evaluated once; it follows its seed only with PYTHONHASHSEED
    fixed, which remote.py does."""

    def __init__(self, d: int, seed: int) -> None:
        super().__init__(d, seed)
        import tempfile

        from ConfigSpace import Configuration, ConfigurationSpace, Float
        from smac import BlackBoxFacade, Scenario
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        self._configuration, self._info, self._value = Configuration, TrialInfo, TrialValue
        self._space = ConfigurationSpace(seed=seed)
        self._space.add([Float(name, (0.0, 1.0)) for name in self.names])
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        scenario = Scenario(self._space, deterministic=True, n_trials=100_000, seed=seed, output_directory=folder)
        design = BlackBoxFacade.get_initial_design(scenario, n_configs=0)  # its own has 8 d points
        self._optimizer = BlackBoxFacade(
            scenario, _never_called, overwrite=True, logging_level=logging.ERROR, initial_design=design
        )

    def learn(self, x: Vector, y: float, token: Any) -> None:
        if token is None:
            values = dict(zip(self.names, map(float, x), strict=True))
            token = self._info(config=self._configuration(self._space, values=values), seed=0)
        self._optimizer.tell(token, self._value(cost=-y), save=False)

    def propose(self) -> tuple[Vector, Any]:
        info = self._optimizer.ask()
        return [info.config[name] for name in self.names], info


class Saasbo(Served):
    """SAASBO: a GP with the sparse axis-aligned prior, LogEI averaged over NUTS samples, on BoTorch.

    BoTorch's 512 warm-up steps and 256 samples take minutes a suggestion; here 128 and 128, thinned by 8.
    """

    def __init__(self, d: int, seed: int) -> None:
        super().__init__(d, seed)
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(seed)

    def propose(self) -> tuple[Vector, Any]:
        import torch
        from botorch.acquisition.logei import qLogExpectedImprovement
        from botorch.fit import fit_fully_bayesian_model_nuts
        from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
        from botorch.optim.optimize import optimize_acqf

        X, Y = torch.tensor(np.array(self.X)), torch.tensor(self.y)[:, None].double()
        model = SaasFullyBayesianSingleTaskGP(X, (Y - Y.mean()) / Y.std().clamp_min(1e-12))
        fit_fully_bayesian_model_nuts(model, warmup_steps=128, num_samples=128, thinning=8, disable_progbar=True)
        improvement = qLogExpectedImprovement(model, best_f=model.posterior(X).mixture_mean.max())
        bounds = torch.stack([torch.zeros(self.d), torch.ones(self.d)]).double()
        x, _ = optimize_acqf(improvement, bounds=bounds, q=1, num_restarts=10, raw_samples=256)
        return x[0].detach().numpy(), None


SERVED: dict[str, type[Served]] = {peer.__name__.lower(): peer for peer in (Cmaes, Vizier, Hebo, Smac, Saasbo)}


def serve() -> None:
    """Answer calls until the pipe is closed: {"make", "d", "seed"}, {"tell", "y"}, {"ask"}."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints must not reach the pipe
    peer: Served | None = None
    for line in sys.stdin:
        call = json.loads(line)
        answer: dict[str, Any] = {}
        begin = time.process_time()
        try:
            if "make" in call:
                peer = SERVED[call["make"]](call["d"], call["seed"])
            elif peer is not None and "ask" in call:
                answer = {"x": [float(v) for v in peer.ask()]}
            elif peer is not None:
                peer.tell(call["tell"], call["y"])
        except Exception:
            answer = {"error": traceback.format_exc()}
        answer["cpu"] = time.process_time() - begin
        out.write("@@" + json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    serve()
