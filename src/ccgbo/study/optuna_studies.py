"""Optuna studies into a study.

Optuna wants each of its constraints to be at most zero, be it of ``trial.set_constraint`` or of a ``constraints_func``,
and ``FrozenTrial.constraints`` has them by their keys, those of a function by "0", "1", ... Here they are outcome
constraints ``AtMost(0.0)`` of the same names; those of a function are "constraint_0", "constraint_1", ..., and one that
is called as an objective is, "loss", is "constraint_loss".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.metrics import VALUE, AtMost, Between, Direction, Metrics, metrics_of
from ccgbo.space import Parameter, Space
from ccgbo.space.shorthand import from_optuna
from ccgbo.study.importing import import_table
from ccgbo.study.planning import Plan
from ccgbo.study.study import Study

if TYPE_CHECKING:
    import optuna


def load_optuna(storage: str, name: str | None = None) -> optuna.Study:
    """An Optuna study from its storage's address, such as ``sqlite:///old.db``."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("importing from Optuna", "optuna") from None
    try:
        return optuna.load_study(study_name=name, storage=storage)
    except (KeyError, ValueError) as error:
        raise SettingError(f"cannot load an Optuna study from {storage!r}: {error}.") from None


def import_optuna(
    study: Study,
    source: optuna.Study,
    *,
    dry_run: bool = False,
    allow_duplicates: bool = False,
    allow_outside: bool = False,
) -> Plan:
    """Tell a study the finished trials of an Optuna study, all or none.

    Pruned and running ones are left out, and those that failed before they had asked for all of their parameters.

    Its values are the objectives of the study, in their order, and must have the same directions. Its constraints are
    outcome constraints of the study, see ``metrics_of_optuna``: without them, values that were not allowed would count.

    Parameters
    ----------
    study
        Where the trials go.
    source
        The Optuna study.
    dry_run
        Only say what would become of the trials.
    allow_duplicates
        Whether a trial is taken in although the study has one with its settings and its outcome.
    allow_outside
        Whether a trial is taken in although its settings lie outside the bounds or break a constraint.
    """
    theirs, ours = [d.name.lower() for d in source.directions], study.metrics.objectives
    if theirs != list(ours.values()):
        there, here = " and ".join(theirs), " and ".join(ours.values())
        raise SettingError(f"the Optuna study must {here} as the study does, but it is to {there}.")
    bounds = _bounds(source, ours)
    if any(study.metrics.constraints.get(name) != bound for name, bound in bounds.items()):
        here = f"the study has {dict(study.metrics.constraints)!r}"
        raise SettingError(f"outcome_constraints must have {bounds!r}, which the Optuna study keeps to, but {here}.")
    rows: list[dict[str, Any]] = []
    for trial in source.get_trials(deepcopy=False):
        if trial.state.name == "COMPLETE" and study.metrics.plain:
            rows.append({"params": trial.params, "value": trial.value})
        elif trial.state.name == "COMPLETE":
            measured = dict(zip(ours, trial.values, strict=True)) | _constraints(trial, ours)
            rows.append({"params": trial.params, "metrics": measured})
        elif trial.state.name == "FAIL" and _is_whole(trial.params, study.space):
            rows.append({"params": trial.params, "value": None, "state": "failed", "error": "failed in Optuna"})
    return import_table(study, rows, dry_run=dry_run, allow_duplicates=allow_duplicates, allow_outside=allow_outside)


def metrics_of_optuna(source: optuna.Study) -> Metrics:
    """What an Optuna study measures: its objectives, value_0 and value_1 where they have no names, and its constraints.

    One objective without constraints has one value.
    """
    words: list[Direction] = [_word(d) for d in source.directions]
    unnamed = [VALUE] if len(words) == 1 else [f"value_{i}" for i in range(len(words))]
    names = [name.replace("=", "_") for name in source.metric_names or unnamed]
    if len(set(names)) < len(names):
        raise UnsupportedError(f"the objectives of the Optuna study, {source.metric_names}, would mix.")
    bounds = _bounds(source, names)
    if len(words) == 1 and not bounds:
        return Metrics({VALUE: words[0]})
    return metrics_of(objectives=dict(zip(names, words, strict=True)), outcome_constraints=bounds)


def _bounds(source: optuna.Study, objectives: Collection[str]) -> dict[str, Between]:
    trials = source.get_trials(deepcopy=False)
    return {name: AtMost(0.0) for trial in trials for name in _constraints(trial, objectives)}


def _word(direction: Any) -> Direction:
    return "minimize" if direction.name == "MINIMIZE" else "maximize"


def _constraints(trial: Any, objectives: Collection[str]) -> dict[str, float]:
    """The constraints of a trial under the names that they have as metrics."""
    names = {key: key.replace("=", "_") for key in trial.constraints}
    names = {key: f"constraint_{n}" if n.isdigit() or n in objectives else n for key, n in names.items()}
    if len(set(names.values())) < len(names):
        raise UnsupportedError(
            f"the constraints of trial {trial.number} of the Optuna study, {list(names)}, would mix."
        )
    return {names[key]: float(value) for key, value in trial.constraints.items()}


def _is_whole(params: Mapping[str, Any], space: Space) -> bool:
    """Whether a trial got as far as to have a place in the space."""
    _, (problem,) = space.place_rows([params])
    return problem is None or params.keys() >= set(space)


def space_of_optuna(source: optuna.Study) -> Space:
    """The space that an Optuna study searched, from its trials; all must have had the same parameters.

    A trial that did not come to its end, or was killed, may not have asked for all of them.
    """
    asked = [trial for trial in source.get_trials(deepcopy=False) if trial.distributions]
    trials = [trial for trial in asked if trial.state.name == "COMPLETE"] or asked
    if not trials:
        raise SettingError(f"the Optuna study {source.study_name!r} has no trial to take a space from.")
    distributions = trials[-1].distributions
    for trial in trials:
        if set(trial.distributions) != set(distributions):
            raise UnsupportedError(f"trial {trial.number} of the Optuna study has other parameters: give the space.")
    return Space({name: _parameter_of_optuna(name, d) for name, d in distributions.items()})


def _parameter_of_optuna(name: str, distribution: Any) -> Parameter:
    parameter = from_optuna(distribution)
    if parameter is None:
        raise UnsupportedError(f"{name}: {type(distribution).__name__} of Optuna has no counterpart.")
    return parameter
