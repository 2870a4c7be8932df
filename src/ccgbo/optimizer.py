"""Counterfactual Credit Guided Bayesian Optimization: ask and tell (arXiv 2510.04676v2, Algorithm 1).

The only stateful class of the library. It does no I/O; its state is plain data (``state_dict``).

    n  observations, d  parameters, p  feature columns, m  candidates
    U  (., d)  points in the unit cube         F  (., p)  points as the model sees them
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import Acquisition, Context, turn, weigh
from ccgbo.acquisition.factors import PriorFactor, SuccessFactor, UserPrior
from ccgbo.credit.field import credit_factor
from ccgbo.credit.proxy import Optima, maximise_paths
from ccgbo.credit.scores import Scores, score
from ccgbo.design import design_points
from ccgbo.errors import InfeasibleSpaceError, NoObservationsError, SettingError, TellError, UnsupportedError
from ccgbo.explain import explain_choice, in_user_units
from ccgbo.ground import Ground
from ccgbo.history import History, outcome_of, table_rows
from ccgbo.model import Fitted, Model, build_model
from ccgbo.presets import Settings, resolve
from ccgbo.records import CreditRow, Direction, Explanation, Recommendation, Result, Trial, best_of
from ccgbo.search import Taken, any_free, maximise, movable, near, scatter
from ccgbo.space import Space, as_space
from ccgbo.surrogate.gp import GP
from ccgbo.surrogate.paths import draw_paths
from ccgbo.threads import blas_threads

Array = NDArray[np.float64]

STATE_VERSION = 1


class Optimizer:
    """Suggests where to evaluate next, and explains why.

    >>> opt = Optimizer({"x": (-5.0, 10.0), "y": (0.0, 15.0)}, direction="minimize", seed=0)
    >>> trial = opt.ask()
    >>> opt.tell(trial, 1.25)

    Every field of ``Settings`` can be given by keyword to replace the preset's; ``repr`` prints them in full.
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        direction: Direction = "maximize",
        preset: str | Settings = "default",
        seed: int | None = None,
        constraint: Any = None,  # predicate(params) -> bool, LinearConstraint, or several
        prior: Any = None,  # belief about the optimum: distributions by parameter, or density(params)
        threads: int | None = 1,  # of BLAS while suggesting; None leaves it alone
        **settings: Any,
    ) -> None:
        if not isinstance(direction, str):
            raise UnsupportedError(
                f"several objectives are out of scope: direction must be one word, got {direction!r}."
            )
        if direction not in ("maximize", "minimize"):
            raise SettingError(f"direction must be 'maximize' or 'minimize', got {direction!r}.")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise SettingError(f"seed must be None or a whole number >= 0, got {seed!r}.")
        self.space = as_space(space, constraint)
        self.direction: Direction = direction
        self.settings = resolve(preset, **settings)
        self._prior = None if prior is None else UserPrior(self.space, prior)
        self._threads = threads
        self._rng = np.random.default_rng(seed)
        self._design_seed = int(self._rng.integers(2**62))
        self._designed = 0  # points of the initial design given out
        self._history = History(self.space, direction)
        self._fitted: Fitted | None = None
        self._model: Model | None = None

    def __repr__(self) -> str:
        h = self._history
        return (
            f"Optimizer(direction={self.direction!r}, {len(h.told)} observations, {len(h.pending)} pending,\n"
            f"space = {self.space!r},\nsettings = {self.settings!r})"
        )

    # -- ask: Algorithm 1

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them; points still being evaluated are taken into account."""
        if n is not None:
            if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
                raise SettingError(f"n must be a whole number >= 1, got {n!r}.")
            return [self.ask() for _ in range(n)]
        with blas_threads(self._threads):
            if self._in_design():
                return self._history.add(self._design_point(), "design", Explanation(reason="initial design"))
            return self._history.add(*self._suggest())

    def _suggest(self) -> tuple[Array, Any, Explanation]:
        t, model = self._history.iteration, self._posterior(commit=True)  # mu_t, sigma_t
        ground = self._ground(model, *turn(self.settings.acquisition, t, self.space.mixed), self._rng)
        u, ground = self._choose(model, ground)  # x_new
        return u, "model", explain_choice(u, self._history, model, self.settings, t, ground)

    def _choose(self, model: Model, ground: Ground) -> tuple[Array, Ground]:
        """x_new, and what it was found on.

        UCB and a posterior sample pay with what the model expects for what it does not know. With
        ``guides="gambles"`` credit stands back where they would pay nothing: their own choice, without credit, is
        taken if its mean is no less than that of the best observation.
        """
        if (
            ground.credit is not None
            and self.settings.credit.guides == "gambles"
            and ground.acquisition.scale == "real"
        ):
            plain = ground.without_credit()
            u = self._search(model, plain)
            if model.gp.predict(self.space.features(u[None, :]))[0][0] >= model.mean.max():
                return u, plain
        return self._search(model, ground), ground

    def _search(self, model: Model, ground: Ground) -> Array:  # (d,)
        s, scale = self.settings.search, model.gp.hyper.lengthscales
        return maximise(
            ground.weighted, self.space, ground.U, ground.values, s, self._taken(), scale=scale, rng=self._rng
        )

    def _ground(
        self, model: Model, acquisition: Acquisition, credited: bool, rng: np.random.Generator, *, to_show: bool = False
    ) -> Ground:
        """What the next point is sought on; credits also where they do not act, if they are to be shown."""
        s, t, space = self.settings, self._history.iteration, self.space
        U = scatter(space, s.search, rng)  # X_cand
        acts = credited and s.credit.strength > 0.0
        optima = self._optima(model, U, rng) if acts or acquisition.needs_optima or to_show else None  # Z_t
        scores = self._scores(model, optima) if optima and (acts or to_show) else None  # l_i, s_i, r_i, c_i
        credit = credit_factor(model.gp, scores.credit, s.credit, t) if acts and scores else None  # pi(x), w_t(x)
        factors = [credit, self._prior_factor(t), SuccessFactor.build(model.gp, self._history.features("failed"))]
        gp = self._with_pending(model.gp, rng)
        centres = self._centres(model, scores if acts else None)
        U = np.concatenate([U, near(space, centres, s.search.n_local, rng)])
        context = Context(gp, float(model.mean.max()), optima, rng, s.credit.n_features, t)
        base = acquisition.bind(context)
        F = space.features(U)
        alpha = base(F)
        weighted, values = weigh(base, alpha, acquisition.scale, factors, F)  # Eq. (4)
        return Ground(acquisition, U, F, optima, scores, credit, factors, base, alpha, weighted, values)

    def _optima(self, model: Model, U: Array, rng: np.random.Generator) -> Optima:
        c, gp = self.settings.credit, model.gp
        paths = draw_paths(gp, c.n_paths, rng, n_features=c.n_features)
        U = U[: c.path_candidates]
        free = movable(self.space, np.concatenate([U, self._history.positions(model.rows)]))
        return maximise_paths(paths, self.space.features(U), free, steps=c.path_steps)

    def _scores(self, model: Model, optima: Optima) -> Scores:
        c = self.settings.credit
        return score(model.mean, model.std, optima.z, floor=c.floor, eps=c.eps)

    def _centres(self, model: Model, scores: Scores | None) -> Array:
        """Observations to look around: the most credited, or without credit the best predicted."""
        merit = scores.credit if scores is not None else model.mean
        return self._history.positions(model.rows[np.argsort(-merit, kind="stable")[:5]])

    def _with_pending(self, gp: GP, rng: np.random.Generator) -> GP:
        """The posterior with a fantasy at each pending point: its mean (believer) or a joint sample."""
        F = self._history.features("pending")
        if not len(F):
            return gp
        if self.settings.pending == "believer":
            return gp.condition(F, gp.predict(F)[0])
        return gp.condition(F, draw_paths(gp, 1, rng, n_features=self.settings.credit.n_features)(F)[:, 0])

    def _prior_factor(self, t: int) -> PriorFactor | None:
        if self._prior is None:
            return None
        return PriorFactor(self._prior, self.space, self.settings.prior_strength / max(t, 1))

    def _taken(self) -> Taken:
        states = ("pending", "failed") if self.settings.revisit else ("pending", "failed", "complete")
        F = np.concatenate([self._history.features(state) for state in states])  # type: ignore[arg-type]
        return Taken(F, self.space, self._history.features("pending"), self.settings.search.separation)

    # -- the initial design

    def _in_design(self) -> bool:
        told, size = len(self._history.told), self.settings.initial_size(self.space.d)
        return told == 0 or (told + len(self._history.pending) < size and self._designed < 2 * size)

    def _design_point(self) -> Array:
        taken, size = self._taken(), self.settings.initial_size(self.space.d)
        for _ in range(64):
            u: Array = design_points(self.space, self.settings.design, self._designed, 1, size, self._design_seed)[0]
            self._designed += 1
            if taken.free(self.space.features(u[None, :])[0]):
                return u
        U = scatter(self.space, self.settings.search, self._rng)  # a small grid, mostly used up
        return any_free(U, self.space, taken, self._rng)

    # -- tell

    def enqueue(self, params: Mapping[str, Any]) -> Trial:
        """A point that is evaluated without having been asked for: pending from now on, to be told like any other."""
        return self._history.add(self.space.encode(params), "told", params=params)

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
        value: Any = None,
        *,
        failed: bool = False,
        noise_variance: float | None = None,
        error: str | None = None,
    ) -> Trial:
        """Record the outcome of a trial, or of a point evaluated elsewhere: ``tell(params, value)``.

        NaN and infinite values count as failed: remembered as places to avoid, kept out of the model.
        """
        if isinstance(trial, Mapping):
            u = self.space.encode(trial)
            outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error)
            return self._history.finish(self._history.add(u, "told", params=trial), outcome)
        known = self._history.find(trial)
        if known.state != "pending":
            raise TellError(f"trial {known.id} is already {known.state} (value {known.value!r}).")
        outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error)
        return self._history.finish(known, outcome)

    def tell_many(self, params: Any, values: Iterable[Any], *, noise_variance: Any = None) -> list[Trial]:
        """Record many evaluations made elsewhere, all or none; ``params`` is a list of dicts or a DataFrame."""
        if not (np.iterable(params) and np.iterable(values)):
            raise TellError(f"params and values must be lists, got {params!r} and {values!r}.")
        rows, values = table_rows(params, self.space), list(values)
        noises = list(noise_variance) if np.iterable(noise_variance) else [noise_variance] * len(rows)
        if not len(rows) == len(values) == len(noises):
            lengths = f"{len(rows)}, {len(values)} and {len(noises)}"
            raise TellError(f"params, values and noise_variance must have one length, got {lengths}.")
        points = [self.space.encode(row) for row in rows]
        outcomes = [
            outcome_of(v, failed=False, noise_variance=q, error=None) for v, q in zip(values, noises, strict=True)
        ]
        added = [self._history.add(u, "told", params=row) for u, row in zip(points, rows, strict=True)]
        return [self._history.finish(trial, outcome) for trial, outcome in zip(added, outcomes, strict=True)]

    # -- what is known

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(self._history.trials.values())

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked for and not told yet."""
        return tuple(self._history.trials[i] for i in self._history.pending)

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value."""
        return best_of(self.trials, self.direction)

    def result(self, stopped: str = "so far") -> Result:
        recommendation = self.recommend() if self._history.told else None
        return Result(trials=self.trials, direction=self.direction, recommendation=recommendation, stopped=stopped)

    def recommend(self) -> Recommendation:
        """The evaluated point with the best posterior mean: the right answer when evaluations are noisy."""
        with blas_threads(self._threads):
            model = self._posterior(commit=False)
        i = int(model.mean.argmax())
        trial = self._history.observed(model.rows[i])
        m, s = in_user_units(model, model.mean[i], model.std[i], self._history.sign)
        return Recommendation(trial_id=trial.id, params=dict(trial.params), mean=m, std=s)

    def credits(self) -> list[CreditRow]:
        """How much each observation tells about where the optimum is. Looking changes nothing: the next ``ask`` sees
        these credits."""
        with blas_threads(self._threads):
            model, rng = self._posterior(commit=False), copy.deepcopy(self._rng)
            try:
                U = scatter(self.space, self.settings.search, rng)
            except InfeasibleSpaceError:  # nothing can be asked; what was told from elsewhere still has its credit
                U = np.empty((0, self.space.d))
            scores = self._scores(model, self._optima(model, U, rng))
        rows = []
        for i, row in enumerate(model.rows):
            trial = self._history.observed(row)
            numbers = {name: float(getattr(scores, name)[i]) for name in ("rank", "credit")}
            rows.append(
                CreditRow(
                    trial_id=trial.id,
                    params=dict(trial.params),
                    value=float(trial.value),  # type: ignore[arg-type]
                    score=float(scores.raw[i]),
                    **numbers,
                )
            )
        return rows

    def explain(self, trial: Trial | int) -> Explanation:
        """Why this point was suggested, as the model saw it then."""
        return self._history.find(trial).explanation or Explanation(reason="told from elsewhere")

    def _posterior(self, *, commit: bool) -> Model:
        """The model of all observations. Only ``ask`` commits a refit, so looking in between changes nothing."""
        if not self._history.told:
            raise NoObservationsError("no observation yet: tell at least one value first.")
        fit, outcome = self.settings.fit, self.settings.outcome
        model = build_model(self._history.data(), self.space.groups, fit, outcome, self._model, self._fitted)
        if commit:
            self._model, self._fitted = model, model.fitted
        return model

    # -- state

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, as plain data for JSON; the space and the settings are not in it."""
        trials, told = [trial.to_dict() for trial in self._history.trials.values()], list(self._history.told)
        return {"version": STATE_VERSION, "trials": trials, "told": told, **self.cursor()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become the optimizer that ``state`` was taken from; the space and the settings must be the same."""
        if state.get("version") != STATE_VERSION:
            raise SettingError(f"state['version'] must be {STATE_VERSION}, got {state.get('version')!r}.")
        trials = [Trial.from_dict(d) for d in state["trials"]]
        order = {trial_id: i for i, trial_id in enumerate(state["told"])}
        history = History(self.space, self.direction)
        history.merge(sorted(trials, key=lambda trial: order.get(trial.id, -1)))
        self._history, self._model, self._fitted = history, None, None
        self._move_to(state)

    def cursor(self) -> dict[str, Any]:
        """The part of the state that is not in the trials: generator, design, fitted hyperparameters."""
        fitted = self._fitted
        return {
            "rng": self._rng.bit_generator.state,
            "design": {"seed": self._design_seed, "given": self._designed},
            "fitted": None if fitted is None else {"theta": fitted.theta.tolist(), "n": fitted.n},
        }

    def catch_up(self, trials: Iterable[Trial], cursor: Mapping[str, Any]) -> None:
        """Take in what copies of this optimizer asked and told since; complete trials in the order they were told."""
        self._history.merge(trials)
        self._move_to(cursor)

    def _move_to(self, cursor: Mapping[str, Any]) -> None:
        rng, fitted = np.random.default_rng(), cursor["fitted"]
        rng.bit_generator.state = cursor["rng"]
        self._rng = rng
        self._design_seed, self._designed = cursor["design"]["seed"], cursor["design"]["given"]
        if fitted != self.cursor()["fitted"]:  # else the model at hand still stands
            self._fitted = None if fitted is None else Fitted(np.array(fitted["theta"]), fitted["n"])
            self._model = None
