"""Counterfactual Credit Guided Bayesian Optimization as a Ray Tune search algorithm.

A trial that ends with an error, or with a metric that is missing, NaN or infinite, is a failed one: a place to avoid,
kept out of the model. Trials still running count as pending.

A scheduler such as ASHA stops trials early. With ``max_t``, the length of a whole run, the last value of a shorter one
is kept between the worst and the median value of the whole runs so far: a short run is no proof of a good result.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.options import OptimizerOptions, check_options, refuse_goals
from ccgbo.errors import MissingExtraError, SettingError, SpaceExhaustedError, UnsupportedError
from ccgbo.outcomes import bounded
from ccgbo.records import Trial
from ccgbo.space import Space
from ccgbo.space.numeric import is_finite
from ccgbo.validation import optional_whole_number

try:
    from ray import cloudpickle
    from ray.tune.result import DEFAULT_METRIC
    from ray.tune.search import Searcher

    from ccgbo.integrations._ray_space import Codec, convert_search_space
except ImportError as error:
    raise MissingExtraError("ccgbo.integrations.ray", "ray") from error

__all__ = ["CCGBOSearch", "convert_search_space"]

logger = logging.getLogger("ccgbo")

DIRECTIONS = {"min": "minimize", "max": "maximize"}


class CCGBOSearch(Searcher):
    """Suggests configurations to Ray Tune.

    >>> search = CCGBOSearch(metric="loss", mode="min", seed=0)
    >>> tune.Tuner(train, tune_config=tune.TuneConfig(search_alg=search, num_samples=50), param_space=space)

    ``settings`` are those of ``ccgbo.Optimizer``: ``preset``, ``acquisition``, ``credit``, ``n_initial``, ...
    """

    def __init__(
        self,
        space: Mapping[str, Any] | Space | None = None,  # Ray's or ccgbo's parameters; None: Tuner's param_space
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float] | None = None,  # of points_to_evaluate, which are then not run again
        seed: int | None = None,
        time_attr: str = "training_iteration",  # in which max_t is counted, as in Ray's schedulers
        max_t: float | None = None,  # of a whole run, as in Ray's schedulers; None: every run counts as whole
        **settings: Unpack[OptimizerOptions],
    ) -> None:
        check_options(settings, CCGBOSearch)
        refuse_goals(settings, "a search of Ray has one metric, and no constraints on others")
        seed = optional_whole_number("seed", seed, at_least=0)
        _refuse_several(metric, mode)
        if mode is not None and mode not in DIRECTIONS:
            raise SettingError(f"mode must be 'min' or 'max', got {mode!r}.")
        if max_t is not None and not (is_finite(max_t) and max_t > 0):
            raise SettingError(f"max_t must be None or a number > 0, got {max_t!r}.")
        super().__init__(metric=metric, mode=mode)
        self._time_attr, self._max_t = time_attr, max_t
        self._whole: list[float] = []  # values of the runs that were not stopped early
        self._points = _checked_points(points_to_evaluate)
        self._rewards = list(evaluated_rewards) if evaluated_rewards is not None else None
        if self._rewards is not None and len(self._rewards) != len(self._points):
            lengths = f"{len(self._rewards)} and {len(self._points)}"
            raise SettingError(f"evaluated_rewards and points_to_evaluate must have one length, got {lengths}.")
        self._seed, self._settings = seed, settings
        self._codec: Codec | None = None
        self._optimizer: Optimizer | None = None
        self._ids: dict[str, int] = {}  # Ray's trial id -> ours
        if space is not None:
            self._codec = convert_search_space(space)
            self._set_up()

    def _set_up(self) -> None:
        """Make the optimizer as soon as the space and the mode are known."""
        if self._optimizer is not None or self._codec is None or self._mode is None:
            return
        self._metric = self._metric or DEFAULT_METRIC
        self._optimizer = self._new_optimizer()
        if self._rewards is not None:
            for point, reward in zip(self._points, self._rewards, strict=True):
                self.add_evaluated_point(point, reward)
            self._points = []
        for point in self._points:
            self._codec.space.encode(self._codec.encode(point))  # a mistake shows now, not in the middle of the run

    def _new_optimizer(self) -> Optimizer:
        assert self._codec is not None
        assert self._mode is not None
        direction: Any = DIRECTIONS[self._mode]
        return Optimizer(self._codec.space, direction=direction, seed=self._seed, **self._settings)

    def set_search_properties(self, metric: str | None, mode: str | None, config: Mapping[str, Any], **_: Any) -> bool:
        """Take what ``Tuner`` knows; False where the space was given before, as Ray asks."""
        _refuse_several(metric, mode)
        own = None if self._metric == DEFAULT_METRIC else self._metric
        self._metric = _agreed("metric", own, metric) or self._metric
        self._mode = _agreed("mode", self._mode, mode)
        known = self._codec is not None
        if not known:
            self._codec = replace(convert_search_space(config), constants={})  # Ray itself puts them in
        self._set_up()
        return not known

    # -- suggestions and results

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer behind the search: credits, explanations and the recommendation."""
        if self._optimizer is None:
            raise SettingError(
                "space and mode must be given, to CCGBOSearch or to Tuner, before anything is suggested."
            )
        return self._optimizer

    def suggest(self, trial_id: str) -> dict[str, Any] | str:  # type: ignore[override]
        """The configuration of a new trial; ``FINISHED`` when a finite space is used up."""
        optimizer, codec = self.optimizer, self._codec
        assert codec is not None
        if self._points:
            trial = optimizer.register(codec.encode(self._points.pop(0)))
        else:
            try:
                trial = optimizer.ask()
            except SpaceExhaustedError:
                return str(Searcher.FINISHED)
        self._ids[trial_id] = trial.id
        return codec.decode(trial.params)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Learn from the last result of a trial."""
        trial = self._pending_trial(trial_id, result or {})
        if trial is None:
            return
        value = (result or {}).get(str(self._metric))
        if error or value is None:
            reason = "the trial raised an error" if error else f"the result has no {self._metric!r}"
            self.optimizer.tell(trial, failed=True, error=reason)
        else:
            self.optimizer.tell(trial, self._comparable(value, result or {}))

    def _comparable(self, value: Any, result: Mapping[str, Any]) -> Any:
        """The value of a whole run; that of one that was stopped early, bounded by those of whole runs."""
        if self._max_t is None or not is_finite(value):
            return value
        length = result.get(self._time_attr)
        if length is None:
            raise SettingError(f"time_attr must be in the results of a search with max_t, got {self._time_attr!r}.")
        if length >= self._max_t:
            self._whole.append(float(value))
        elif self._whole:
            return bounded(float(value), self._whole, maximize=self._mode == "max")
        return value

    def _pending_trial(self, trial_id: str, result: Mapping[str, Any]) -> Trial | None:
        """The trial behind Ray's id; one that Ray restarts has failed before, or comes back under a new id."""
        optimizer, codec = self.optimizer, self._codec
        assert codec is not None
        trial = next((t for t in optimizer.trials if t.id == self._ids.get(trial_id)), None)
        if trial is not None and trial.state == "complete":
            logger.warning("trial %s has ended before, with the value %s", trial_id, trial.value)
            return None
        if trial is None:
            config = {name.removeprefix("config/"): v for name, v in result.items() if name.startswith("config/")}
            params: Mapping[str, Any] = codec.encode(config)
            if not params:
                logger.warning("trial %s is not one of this search, and its result has no config", trial_id)
                return None
        elif trial.state == "failed":
            params = trial.params
        else:
            return trial
        trial = optimizer.register(params)
        self._ids[trial_id] = trial.id
        return trial

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[float] | None = None,  # noqa: ARG002 - Ray's signature
    ) -> None:
        """Learn from an evaluation made elsewhere; one that was pruned says nothing about the final value."""
        optimizer, codec = self.optimizer, self._codec
        assert codec is not None
        if pruned and not error:
            return
        trial = optimizer.register(codec.encode(parameters))
        if error:
            optimizer.tell(trial, failed=True, error="the trial raised an error")
        else:
            optimizer.tell(trial, value)

    def credits(self) -> list[tuple[dict[str, Any], float]]:
        """Each finished configuration with its credit, the most telling first."""
        rows = sorted(self.optimizer.credits(), key=lambda row: -row.credit)
        assert self._codec is not None
        return [(self._codec.decode(row.params), row.credit) for row in rows]

    # -- save and restore

    def get_state(self) -> dict[str, Any]:
        own = ["_metric", "_mode", "_codec", "_points", "_rewards", "_seed", "_settings", "_ids"]
        state = {name: getattr(self, name) for name in [*own, "_time_attr", "_max_t", "_whole"]}
        return state | {"optimizer": None if self._optimizer is None else self._optimizer.state_dict()}

    def set_state(self, state: dict[str, Any]) -> None:
        optimizer = state["optimizer"]
        self.__dict__.update({name: value for name, value in state.items() if name != "optimizer"})
        self._optimizer = None
        if optimizer is not None:
            self._optimizer = self._new_optimizer()
            self._optimizer.load_state_dict(optimizer)

    def save(self, checkpoint_path: str) -> None:
        with open(checkpoint_path, "wb") as file:
            cloudpickle.dump(self.get_state(), file)  # type: ignore[no-untyped-call]

    def restore(self, checkpoint_path: str) -> None:
        with open(checkpoint_path, "rb") as file:
            self.set_state(cloudpickle.load(file))


def _checked_points(points: Any) -> list[dict[str, Any]]:
    if points is None:
        return []
    if not isinstance(points, list | tuple) or not all(isinstance(point, Mapping) for point in points):
        raise SettingError(f"points_to_evaluate must be a list of configurations, got {points!r}.")
    return [dict(point) for point in points]


def _agreed(name: str, own: str | None, given: str | None) -> str | None:
    """What the search and Tuner say; they must not contradict each other."""
    if own is not None and given is not None and own != given:
        raise SettingError(f"{name} must be the same for CCGBOSearch and for Tuner, got {own!r} and {given!r}.")
    return given or own


def _refuse_several(*given: Any) -> None:
    for each in given:
        if isinstance(each, list | tuple):
            raise UnsupportedError(
                f"several objectives are out of scope: a search of Ray has one metric, got {each!r}."
            )
