"""What would be believed without some observations: the questions behind ``Optimizer.influence``.

The numbers are those of credit/influence.py, turned into the user's units. A deletion holds the hyperparameters, the
outcome transform and every random draw, so that what differs is the observation's doing.

    n  observations of the model, p  feature columns, k  posterior functions
    W  worlds: one without each observation, then one without each group
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import LARGEST, Array
from ccgbo.credit.influence import Found, Pool, Worlds, find_optima
from ccgbo.credit.shapley import sampled_orders, shapley
from ccgbo.engine.candidates import SMALL_GRID, global_candidates, local_candidates
from ccgbo.engine.explain import in_user_units
from ccgbo.engine.history import History
from ccgbo.engine.model import best_row, build_model
from ccgbo.engine.proposal import question
from ccgbo.engine.recommend import deciding_values
from ccgbo.engine.search import movable, pull_back
from ccgbo.engine.step import N_CENTRES, State
from ccgbo.errors import InfeasibleSpaceError, SettingError, UnknownTrialError, UnsupportedError
from ccgbo.influence import SAME, GroupInfluence, Groups, Influence, InfluenceRow, Optimum
from ccgbo.metrics import VALUE
from ccgbo.records import Trial
from ccgbo.space import Categorical, Space
from ccgbo.surrogate.base import DeletablePosterior, Deletions, Rows
from ccgbo.validation import shown

N_GLOBAL = 256  # candidates over the whole space; each maximum climbs from the best of them
N_SHAPLEY = 256  # places found in other worlds that are added to these in sampled orders


def influence(
    state: State,
    history: History,
    rng: np.random.Generator,  # as the next step will find it
    *,
    groups: Mapping[str, tuple[int, ...]],  # trial ids by name
    top: int,
    refit: bool,
    n_orders: int,
    n_paths: int,
) -> Influence:
    """What each observation, and each group, is worth."""
    view = View.of(state, history, deepcopy(rng), n_paths)
    known = set(view.ids)
    members = {name: tuple(i for i in ids if i in known) for name, ids in groups.items()}
    worlds = view.worlds(members.values())
    found = find_optima(view.deletions, worlds, view.pool)
    decide, n = deciding_values(state, history.data()), len(view.ids)
    facts = view.counterfactuals(found, worlds, decide)
    if refit:
        for g in [*np.argsort(-found.worth[:n], kind="stable")[:top], *range(n, len(worlds))]:
            facts[g]["refitted"] = _refitted(view, history, worlds[g], deepcopy(rng))
    for row, share in zip(facts, _shares(view, found, n_orders, deepcopy(rng)), strict=False):
        row.update(share)
    credit = question(state, rng)[1].credit
    trials = [history.trials[i] for i in view.ids]
    rows = [
        InfluenceRow(
            trial_id=trial.id,
            trial_ids=(trial.id,),
            params=dict(trial.params),
            value=float(trial.value),  # type: ignore[arg-type]
            credit=float(credit[i]),
            **facts[i],
        )
        for i, trial in enumerate(trials)
    ]
    named = zip(members.items(), facts[n:], strict=True)
    return Influence(
        rows=tuple(rows),
        groups=tuple(GroupInfluence(name=name, trial_ids=ids, **fact) for (name, ids), fact in named),
        optimum=view.optima(found.full)[0],
        recommended=view.recommended(state.model.mean if decide is None else decide, np.arange(n)),
        n_paths=n_paths,
    )


def deletable(state: State) -> DeletablePosterior:
    """The posterior, which must know what it would be without an observation."""
    posterior = state.model.posterior
    if not isinstance(posterior, DeletablePosterior):
        raise UnsupportedError(
            f"influence must have a surrogate that can take an observation out, such as surrogate='gp', "
            f"got surrogate={shown(state.settings.surrogate)} with a {type(posterior).__name__}."
        )
    return posterior


def moved(space: Space, u: Array, V: Array) -> Array:  # (d,), (b, d) -> (b,)
    """The largest change of a parameter as a share of its range; 1 where a choice, or what is active, is another."""
    change = np.abs(V - u)
    choices = [j for j, parameter in enumerate(space.parameters) if isinstance(parameter, Categorical)]
    change[:, choices] = V[:, choices] != u[choices]
    if space.conditional:
        on, was_on = space.active(V), space.active(u[None])
        change = np.where(on & was_on, change, on != was_on)
    return change.max(axis=1)  # type: ignore[no-any-return]


# -- groups


def members_of(groups: Groups | None, by: str | None, history: History) -> dict[str, tuple[int, ...]]:
    """Trial ids by the name of their group."""
    if groups is not None and not isinstance(groups, Mapping):
        raise SettingError(f"groups must be a mapping of names to trial ids or predicates, got {shown(groups)}.")
    named = {str(name): _ids(str(name), members, history) for name, members in (groups or {}).items()}
    return named if by is None else named | _by(by, [history.trials[i] for i in history.complete])


def _ids(name: str, members: Any, history: History) -> tuple[int, ...]:
    if callable(members):
        return tuple(i for i in history.complete if members(history.trials[i]))
    if isinstance(members, str) or not np.iterable(members):
        raise SettingError(f"groups[{name!r}] must be trial ids or a predicate of a trial, got {shown(members)}.")
    try:
        return tuple(dict.fromkeys(history.find(trial).id for trial in members))
    except UnknownTrialError as error:
        raise UnknownTrialError(f"groups[{name!r}]: {error}") from None


def _by(key: str, trials: Sequence[Trial]) -> dict[str, tuple[int, ...]]:
    """Trials by an attribute, by each entry of one that is a list, or by the value of a parameter."""
    found: dict[str, list[int]] = {}
    for trial in trials:
        value = {**trial.params, **getattr(trial, "attributes", {})}.get(key)
        for each in value if isinstance(value, list | tuple) else [] if value is None else [value]:
            found.setdefault(f"{key} = {each}", []).append(trial.id)
    if trials and not found:
        raise SettingError(f"by must be an attribute of the trials or a parameter, got {shown(key)}.")
    return {name: tuple(ids) for name, ids in found.items()}


# -- what would be believed


@dataclass(frozen=True, slots=True)
class View:
    """Posterior functions of a state, and where their maxima are sought."""

    state: State
    sign: float
    ids: list[int]  # (n,) trials behind the observations
    deletions: Deletions
    pool: Pool

    @classmethod
    def of(cls, state: State, history: History, rng: np.random.Generator, n_paths: int) -> View:
        posterior, space, tuning = deletable(state), state.space, state.settings.tuning
        try:
            U = global_candidates(space, tuning, rng)
            U = U if space.grid_size_at_most(SMALL_GRID) else U[:N_GLOBAL]
        except InfeasibleSpaceError:  # nothing can be suggested; what was told from elsewhere still has its worth
            U = np.empty((0, space.d))
        best = state.observed[np.argsort(-state.model.mean, kind="stable")[:N_CENTRES]]
        U = np.concatenate([U, local_candidates(space, best, tuning.n_local, rng)])
        every = np.concatenate([U, state.observed])

        def settle(origin: Rows, F: Array) -> Array:
            start = every[origin]
            end = pull_back(space, start, space.from_features(F))
            return space.features(np.where(space.feasible(start)[:, None], end, start))

        pool = Pool(space.features(U), movable(space, every), settle if space.constraints else None)
        ids = [history.observed(row).id for row in state.model.rows]
        return cls(state, history.sign, ids, posterior.deletions(n_paths, rng), pool)

    def recommended(self, merit: Array, left: NDArray[np.intp]) -> int:
        """The trial, of the observations that are left."""
        return self.ids[int(left[best_row(merit[left], self.state.observed[left])])]

    def worlds(self, groups: Any) -> list[Rows]:
        """One without each observation, then one without each group."""
        row_of = {i: row for row, i in enumerate(self.ids)}
        singles: list[Rows] = [np.array([row]) for row in range(len(self.ids))]
        return singles + [np.array([row_of[i] for i in ids], dtype=np.intp) for ids in groups]

    def places(self, F: Array) -> Array:  # (b, p) -> (b, d)
        return self.state.space.from_features(F)

    def values(self, y: Array) -> Array:
        """Values of the model as the user would write them."""
        values: Array = self.sign * self.state.model.in_user_units(y, np.zeros_like(y))[0]
        return values

    def worth(self, loss: Array, y: float) -> Array:  # (g,) -> (g,)
        """What is lost from a value of the model, likewise."""
        lost: Array = np.abs(self.values(y - loss) - self.values(np.array([y])))
        return lost

    def differences(self, dy: Array, y: float) -> list[float | None]:
        """Small differences at a value of the model, likewise; None for what is not known."""
        with np.errstate(over="ignore"):
            scaled = np.clip(dy * in_user_units(self.state.model, y, 1.0, self.sign)[1], -LARGEST, LARGEST)
        return [None if math.isnan(d) else d for d in scaled.tolist()]

    def optima(self, found: Found) -> list[Optimum]:
        """Of every world; the place is that of the mean, the last of the paths."""
        mean, proxy = self.values(found.maxima[:, -1]), self.values(found.maxima[:, :-1].mean(axis=1))
        params = self.state.space.decode_rows(self.places(found.argmax[:, -1]))
        return [Optimum(params=p, mean=float(m), proxy=float(z)) for p, m, z in zip(params, mean, proxy, strict=True)]

    def seen(self, found: Worlds) -> float:
        """What differences are seen from: the optimum, at most the best observation.

        In the tails of a robust scale, where the optimum of a path may lie that nobody has seen, they are astronomic.
        """
        return float(min(found.full.maxima[0, :-1].mean(), self.state.model.mean.max()))

    def counterfactuals(
        self,
        found: Worlds,
        worlds: Sequence[Rows],
        decide: Array | None,  # (n,) values by which observations are recommended; None: their means
    ) -> list[dict[str, Any]]:
        """Of every world, the fields of a ``Counterfactual``."""
        full, there, space, n = found.full, found.without, self.state.space, len(self.ids)
        z, loss, away = full.maxima[0, :-1].mean(), found.loss, self._others(found)
        seen = self.seen(found)
        worth = self.worth(found.worth, seen)
        hope = self.sign * (self.values(seen + there.maxima[:, :-1].mean(axis=1) - z) - self.values(np.array([seen])))
        error = self.differences(found.error, seen)
        optima, worst = self.optima(there), np.where(away, loss, -1.0).argmax(axis=1)
        here, elsewhere = self.places(full.argmax[0, -1:])[0], there.argmax[np.arange(len(worlds)), worst]
        far = moved(space, here, self.places(there.argmax[:, -1]))
        others = space.decode_rows(self.places(elsewhere))
        facts = []
        at_data = self.deletions.sweep(np.empty((0, self.pool.F.shape[1])), worlds)
        for g, (rows, values) in enumerate(zip(worlds, at_data, strict=True)):
            merit, left = values[-1] if decide is None else decide, np.delete(np.arange(n), rows)
            facts.append(
                {
                    "worth": float(worth[g]),
                    "worth_error": error[g],
                    "hope": float(hope[g]),
                    "optimum": optima[g] if len(left) else None,
                    "moved": float(far[g]) if len(left) else None,
                    "doubt": float(away[g].mean()),
                    "elsewhere": others[g] if away[g].any() else None,
                    "recommended": self.recommended(merit, left) if len(left) else None,
                }
            )
        return facts

    def _others(self, found: Worlds) -> NDArray[np.bool_]:  # (W, k)
        """Which draws have their maximum at another place."""
        limit = np.zeros(self.pool.F.shape[1])
        limit[self.state.space.continuous_columns] = SAME
        change = np.abs(found.without.argmax - found.full.argmax)[:, :-1]
        return np.any(change > limit, axis=2)  # type: ignore[no-any-return, unused-ignore]


def _refitted(view: View, history: History, rows: Rows, rng: np.random.Generator) -> Optimum | None:
    """Where the optimum would be thought to be with hyperparameters that were learned without these rows.

    Random draws and candidates are those of the held hyperparameters.
    """
    s, model, data = view.state, view.state.model, history.data()
    left = np.delete(np.arange(len(data.values)), model.rows[rows])
    if not len(left):
        return None
    learned = build_model(data[left], s.space.choices, s.settings, None, model.fit, refit=True).fit
    other = build_model(data, s.space.choices, s.settings, None, replace(learned, n=len(data.values)), refit=False)
    there = View.of(
        replace(s, models={VALUE: other}, placed=data.U), history, rng, view.deletions.paths.at_data.shape[1] - 1
    )
    gone = np.flatnonzero(np.isin(other.rows, model.rows[rows]))
    return there.optima(find_optima(there.deletions, [gone], there.pool).without)[0]


def _shares(view: View, found: Worlds, n_orders: int, rng: np.random.Generator) -> list[dict[str, float | None]]:
    """Shapley values of the observations, see credit/shapley.py; none without orders."""
    if not n_orders:
        return []
    elsewhere = found.without.argmax[:, :-1][found.loss > 0.0]
    some = elsewhere[rng.permutation(len(elsewhere))[:N_SHAPLEY]]
    points = [view.pool.F, view.deletions.paths.X, found.full.argmax[0], some]
    orders = sampled_orders(len(view.ids), n_orders, rng)
    shares = shapley(view.deletions, np.concatenate(points), orders)
    # parts of a whole: they are of the size of what all are worth, on whichever scale the model sees the values
    seen, total = view.seen(found), float(shares.value.sum())
    size = float(view.worth(np.array([total]), seen)[0]) / total if total > 0.0 else 0.0
    pairs = zip(size * shares.value, size * shares.error, strict=True)
    return [
        {"share": float(value), "share_error": None if math.isnan(error) else float(error)} for value, error in pairs
    ]
