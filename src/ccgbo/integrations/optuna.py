"""A sampler for Optuna: ``optuna.create_study(sampler=CCGBOSampler(seed=0))``.

Optuna's storage is the only memory. For every suggestion the engine is brought to the trials found there, in the order
of their numbers, so several processes may share a study, and a suggestion depends on nothing but

    seed, trial number      every trial has its own random stream
    trials in the storage   finished ones as observations, running ones as points under evaluation
    "ccgbo:fit"             a study attribute: the last hyperparameters, where the next fit starts

A study resumed from its storage with the same seed therefore continues as if it had never stopped.

    trial in Optuna                     what the engine is told
    complete, value finite              the value
    complete, several values            one for each direction
    complete, with constraints          each as a metric of its own, to be at most zero
    complete, value infinite            a failure; one of several, or beside constraints, stands for the worst
    pruned, with a reported value       what ``pruned=`` says, see _optuna_pruned.py
    pruned, without one; failed         a failure
    running                             a point under evaluation
    not in the search space             nothing
"""

from __future__ import annotations

import copy
import threading
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, Unpack

import numpy as np

from ccgbo.engine.options import SettingsOptions, check_keywords, refuse_goals
from ccgbo.engine.settings import PRESETS, Settings, resolve
from ccgbo.errors import MissingExtraError, NoObservationsError, SettingError, SpaceExhaustedError
from ccgbo.records import Trial
from ccgbo.space import Space, as_space
from ccgbo.validation import optional_whole_number

try:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler, TPESampler
    from optuna.storages import BaseStorage, RDBStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, TrialState

    from ccgbo.integrations._optuna_engine import FIT, Engine, derived_seed, stored_fits
    from ccgbo.integrations._optuna_metrics import directions
    from ccgbo.integrations._optuna_pruned import PRUNED, PrunedReading
    from ccgbo.integrations._optuna_tree import Distributions, Tree, learn, ranges, searches_all
except ImportError as error:
    raise MissingExtraError("ccgbo.integrations.optuna", "optuna") from error

CREDITS = "ccgbo:credits"  # study attribute: credit of every observation, by trial number
CREDIT = "ccgbo:credit"  # trial attribute: its credit when it finished
WEIGHT = "ccgbo:weight"  # trial attribute: the weight credit gave to the point when it was suggested

STARTUP = 10  # trials before the model takes over
MOST_UNDECIDED = 8  # trials of dead processes look undecided for ever
MOST_ATTEMPTS = 3  # at a choice that others' choices overtake

_log = optuna.logging.get_logger("optuna.samplers.ccgbo")


class CCGBOSampler(BaseSampler):
    """Counterfactual Credit Guided Bayesian Optimization, of one objective or of several, with constraints or without.

    ``constraints_func`` is as in Optuna's own samplers; ``trial.set_constraint`` needs no argument here.
    ``storage`` is the storage of the study, or its URL. With it, every trial gets the attributes ``ccgbo:weight`` and
    ``ccgbo:credit``: Optuna has no public way from a sampler to a trial's attributes but through the storage.
    ``store_credits=False`` stores no credits at all. ``space``, a ``ccgbo.Space``, is what the objective will ask for,
    with its conditions and constraints; without it the space is learned from the trials, the branches of a
    define-by-run objective included. ``pruned`` is how pruned trials are read: ``"bound"`` takes the last value, not
    better than the median complete one, ``"extrapolate"`` adds what complete trials still gained after that step,
    ``"fail"`` avoids the place, ``"ignore"`` leaves it out. Further keywords are fields of ``ccgbo.Settings``.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = STARTUP,  # None is the preset's: max(2 d, 10)
        independent_sampler: BaseSampler | None = None,  # None draws at random, by seed, trial number and name
        warn_independent_sampling: bool = True,
        storage: str | BaseStorage | None = None,
        store_credits: bool = True,
        pruned: PrunedReading = PRUNED,
        space: Space | Mapping[str, Any] | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        preset: str | Settings = "default",
        **settings: Unpack[SettingsOptions],
    ) -> None:
        refuse_goals(settings, "directions are said to create_study, constraints by trial.set_constraint")
        check_keywords(settings, CCGBOSampler, SettingsOptions)
        seed = optional_whole_number("seed", seed, at_least=0)
        n_startup_trials = optional_whole_number("n_startup_trials", n_startup_trials, at_least=0)
        if "n_initial" in settings:
            raise SettingError(f"n_initial is called n_startup_trials here, got n_initial={settings['n_initial']!r}.")
        n_initial = None if n_startup_trials is None else max(n_startup_trials, 1)
        self._settings = resolve(preset, n_initial=n_initial, **settings)
        self._seed = _entropy() if seed is None else seed
        self._independent_sampler = independent_sampler
        self._warn_about = set[str]() if warn_independent_sampling else None  # names already warned about
        self._storage = RDBStorage(storage) if isinstance(storage, str) else storage
        self._store_credits = store_credits
        self._space = None if space is None else as_space(space)
        options = {"pruned": (pruned, PRUNED), "store_credits": (store_credits, True), "space": (self._space, None)}
        self._options = {name: value for name, (value, default) in options.items() if value != default}
        self._keeper = None if constraints_func is None else _keeper(constraints_func)
        self._engine = Engine(pruned, settings)
        self._lock = threading.Lock()  # so that each thread sees what the others were given

    def __repr__(self) -> str:
        said = {"seed": self._seed, **_differing(self._settings), **self._options}
        return f"CCGBOSampler({', '.join(f'{name}={value!r}' for name, value in said.items())})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def reseed_rng(self) -> None:
        self._seed = _entropy()
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    # -- suggestions

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        return dict(self._tree(study.get_trials(deepcopy=False)).distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        with self._lock:
            tree = self._tree(_others(study, trial), search_space)
            asked, fit = self._choose(study, trial, tree)
            if asked is None:
                return {}
            params = tree.outward(asked.params)
            self._engine.remember(study, trial, params)
        if fit is not None:
            _set_study_attr(study, FIT, fit)
        if self._store_credits and asked.explanation is not None and asked.explanation.weight is not None:
            self._annotate(study, trial, WEIGHT, asked.explanation.weight)
        return params

    def _tree(self, trials: Sequence[FrozenTrial], distributions: Distributions | None = None) -> Tree:
        """The search space, of the given parameters or of all that can be searched."""
        if self._space is not None and searches_all(self._space, distributions):
            return Tree.of(self._space)
        return learn(trials, ranges(trials) if distributions is None else distributions)

    def _choose(self, study: Study, trial: FrozenTrial, tree: Tree) -> tuple[Trial | None, dict[str, Any] | None]:
        for _ in range(MOST_ATTEMPTS):
            others = _others(study, trial)
            chosen = self._ask(study, trial, others, tree)
            if not _new_decisions(others, _others(study, trial), tree):
                break
        return chosen

    def _ask(
        self, study: Study, trial: FrozenTrial, others: Sequence[FrozenTrial], tree: Tree
    ) -> tuple[Trial | None, dict[str, Any] | None]:
        """A suggestion, None if every point is used; and the new fit if there is one."""
        self._engine.forget_finished(study, others)
        again = replace(self._settings, allow_repeats=True)
        complete = [t for t in others if t.state == TrialState.COMPLETE]
        for settings, trials in ((self._settings, others), (again, others), (again, complete)):
            optimizer = self._engine.optimizer(study, trials, tree, trial.number, settings, self._seed)
            before = stored_fits(optimizer.state(), tree)
            with suppress(SpaceExhaustedError):  # a small grid is used up: Optuna goes on, so points repeat
                ahead = min(self._engine.n_undecided(study, trial, trials, tree), MOST_UNDECIDED)
                asked = optimizer.ask(1 + ahead)[-1]
                after = stored_fits(optimizer.state(), tree)
                return asked, None if after == before else after
        return None, None

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._warn_independent(trial, param_name)
        sampler = self._independent_sampler
        if sampler is None:  # no stream of its own: workers with one seed would all start at the same point
            name = zlib.crc32(param_name.encode())
            sampler = RandomSampler(seed=derived_seed(self._seed, trial.number, name) % 2**32)
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _warn_independent(self, trial: FrozenTrial, name: str) -> None:
        startup = self._settings.n_initial or 10
        if self._warn_about is None or name in self._warn_about or trial.number < startup:
            return
        self._warn_about.add(name)
        _log.warning(
            f"CCGBOSampler draws {name!r} of trial {trial.number} without the model: not every finished trial has it "
            "with this range. warn_independent_sampling=False silences this."
        )

    # -- before and after a trial

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        directions(study)  # refuses too many before anything is evaluated
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)
        self._engine.forget(study, trial)
        if self._keeper is not None:
            self._keeper.after_trial(study, trial, state, values)
        if not self._store_credits:
            return
        done = copy.copy(trial)  # the storage still has it as running
        done.state, done.values = state, values
        trials = [done if t.number == done.number else t for t in study.get_trials(deepcopy=False)]
        credits = self._credits(study, trials)
        if trial.number in credits:
            self._annotate(study, trial, CREDIT, credits[trial.number])
            _set_study_attr(study, CREDITS, {str(number): round(credit, 4) for number, credit in credits.items()})

    def credits(self, study: Study) -> dict[int, float]:
        """Credit of every observation of a study for what is now believed to be the optimum, by trial number."""
        return self._credits(study, study.get_trials(deepcopy=False))

    def _credits(self, study: Study, trials: Sequence[FrozenTrial]) -> dict[int, float]:
        tree = self._tree(trials)
        if not tree.distributions:
            return {}
        with self._lock, suppress(NoObservationsError):
            optimizer = self._engine.optimizer(study, trials, tree, len(trials), self._settings, self._seed)
            return {row.trial_id: row.credit for row in optimizer.credits()}
        return {}

    def _annotate(self, study: Study, trial: FrozenTrial, key: str, value: float) -> None:
        if self._storage is None:
            return
        try:
            study_id = self._storage.get_study_id_from_name(study.study_name)
            trial_id = self._storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)
        except KeyError:
            raise SettingError(
                f"storage must be the study's storage, got {self._storage!r} without trial {trial.number} "
                f"of {study.study_name!r}."
            ) from None
        self._storage.set_trial_user_attr(trial_id, key, round(value, 4))  # a column that people read


def _differing(settings: Settings) -> dict[str, Any]:
    """The preset that the settings are nearest to, and the fields in which they differ from it, as keywords."""
    differing: dict[str, dict[str, Any]] = {}
    for name in PRESETS:
        preset = resolve(name, acquisition=settings.acquisition)  # what follows from the acquisition is no news
        found = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name != "n_initial"}
        differing[name] = {field: value for field, value in found.items() if value != getattr(preset, field)}
        if settings.acquisition != resolve(name).acquisition:
            differing[name]["acquisition"] = settings.acquisition
    nearest = min(differing, key=lambda name: len(differing[name]))
    startup = {} if settings.n_initial == STARTUP else {"n_startup_trials": settings.n_initial}
    return ({} if nearest == "default" else {"preset": nearest}) | startup | differing[nearest]


def _keeper(constraints_func: Callable[[FrozenTrial], Sequence[float]]) -> BaseSampler:
    """A sampler of Optuna's that stores what the function returns, as Optuna stores it; it samples nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that trial.set_constraint is the newer way is said in our docs
        return TPESampler(constraints_func=constraints_func)


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    return [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]


def _new_decisions(before: Iterable[FrozenTrial], after: Iterable[FrozenTrial], tree: Tree) -> bool:
    """Whether another process has made its choice in the meantime."""
    settled = {t.number for t in before if t.state.is_finished() or tree.belongs(t.params)}
    return any(t.number not in settled and tree.belongs(t.params) for t in after)


def _entropy() -> int:
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def _set_study_attr(study: Study, key: str, value: Any) -> None:
    """The study that HyperbandPruner hands to a sampler has no attributes: there, fits start afresh."""
    setter = getattr(study, "set_user_attr", None)
    if setter is not None:
        setter(key, value)
