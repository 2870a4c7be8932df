"""Optuna studies into a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.metrics import Direction
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
    """Tell a study the finished trials of an Optuna study, all or none; pruned and running ones are left out.

    Its values are the objectives of the study, in their order, and must have the same directions.

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
    rows: list[dict[str, Any]] = []
    for trial in source.get_trials(deepcopy=False):
        if trial.state.name == "COMPLETE" and study.metrics.plain:
            rows.append({"params": trial.params, "value": trial.value})
        elif trial.state.name == "COMPLETE":
            rows.append({"params": trial.params, "metrics": dict(zip(ours, trial.values, strict=True))})
        elif trial.state.name == "FAIL" and trial.params:
            rows.append({"params": trial.params, "value": None, "state": "failed", "error": "failed in Optuna"})
    return import_table(study, rows, dry_run=dry_run, allow_duplicates=allow_duplicates, allow_outside=allow_outside)


def objectives_of_optuna(source: optuna.Study) -> dict[str, Direction] | None:
    """The objectives of an Optuna study by their names, value_0 and value_1 where it has none; None for one value."""
    if len(source.directions) == 1:
        return None
    names = source.metric_names or [f"value_{i}" for i in range(len(source.directions))]
    return {name: _word(d) for name, d in zip(names, source.directions, strict=True)}


def _word(direction: Any) -> Direction:
    return "minimize" if direction.name == "MINIMIZE" else "maximize"


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
