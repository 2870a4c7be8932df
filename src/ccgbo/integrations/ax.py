"""Counterfactual Credit Guided Bayesian Optimization as a generation node of Ax.

The experiment is the only memory: whenever it has new outcomes, the engine is built anew from its trials.

    trial in Ax                              what the engine is told
    completed or stopped early, with data    its metrics, each with the variance sem^2 where it is known
      ... of which some are missing or NaN   the others: objectives and constraints have a model each
      ... of which some are infinite         the worst or best there is, or a bound that is broken (infinite.py)
    failed, or no metric that is finite      a failure: a place to avoid
    pending as Ax sees it (abandoned, too)   a point under evaluation
    out of the search space                  nothing
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.options import OptimizerOptions, check_options, goal_options, refuse_goals
from ccgbo.engine.state import OptimizerState, iteration_of
from ccgbo.errors import MissingExtraError, ParamsError, SettingError, SpaceExhaustedError, UnsupportedError
from ccgbo.records import Trial
from ccgbo.validation import optional_whole_number

try:
    from ax.core.data import Data
    from ax.core.experiment import Experiment
    from ax.core.experiment_status import ExperimentStatus
    from ax.core.generator_run import GeneratorRun
    from ax.core.search_space import SearchSpace
    from ax.core.trial_status import TrialStatus
    from ax.core.types import TParameterization
    from ax.exceptions.core import SearchSpaceExhausted
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
    from ax.generation_strategy.transition_criterion import TransitionCriterion
    from ax.storage.json_store.decoder import object_from_json
    from ax.storage.json_store.registry import CORE_DECODER_REGISTRY, CORE_ENCODER_REGISTRY

    from ccgbo.infinite import Ends
    from ccgbo.integrations._ax_goal import Goal, Measured
    from ccgbo.integrations._ax_space import Codec, convert_search_space
except ImportError as error:
    raise MissingExtraError("ccgbo.integrations.ax", "ax") from error

__all__ = ["CCGBOGenerationNode"]

logger = logging.getLogger("ccgbo")


class CCGBOGenerationNode(ExternalGenerationNode):
    """A node that suggests arms for one objective or a front of several, with or without outcome constraints.

    >>> client.set_generation_strategy(GenerationStrategy(name="CCGBO", nodes=[CCGBOGenerationNode(seed=0)]))

    It brings its own initial design; ``settings`` are those of ``ccgbo.Optimizer``: ``preset``, ``acquisition``,
    ``credit``, ``n_initial``, ...
    """

    def __init__(
        self,
        name: str = "CCGBO",
        *,
        seed: int | None = None,
        suggested_experiment_status: ExperimentStatus | None = None,
        should_deduplicate: bool = True,
        transition_criteria: Sequence[TransitionCriterion] | None = None,
        state: Mapping[str, Any] | None = None,  # where a saved node left off
        **settings: Unpack[OptimizerOptions],
    ) -> None:
        check_options(settings, CCGBOGenerationNode)
        refuse_goals(settings, "Ax says it by configure_optimization")
        seed = optional_whole_number("seed", seed, at_least=0)
        super().__init__(
            name=name,
            suggested_experiment_status=suggested_experiment_status,
            should_deduplicate=should_deduplicate,
            transition_criteria=transition_criteria,
        )
        self._seed, self._settings = seed, settings
        self._state = None if state is None else OptimizerState.from_dict(state)
        self._search_space: SearchSpace | None = None
        self._codec: Codec | None = None
        self._goal: Goal | None = None
        self._optimizer: Optimizer | None = None
        self._records: list[Trial] = []

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer as of the last suggestion: credits, explanations and the recommendation."""
        if self._optimizer is None:
            raise SettingError("the node must have generated something before its optimizer can be looked at.")
        return self._optimizer

    def credits(self) -> list[tuple[dict[str, Any], float]]:
        """Each evaluated parameterization with its credit, the most telling first."""
        rows = sorted(self.optimizer.credits(), key=lambda row: -row.credit)
        assert self._codec is not None
        return [(self._codec.decode(row.params), row.credit) for row in rows]

    # -- Ax asks

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Take in the outcomes of the experiment, if there are new ones."""
        goal, last = Goal.of(experiment.optimization_config), self._optimizer
        if self._codec is None or experiment.search_space != self._search_space or goal != self._goal:
            self._state = self._state if self._codec is None else None
            self._codec, last = convert_search_space(experiment.search_space), None
            self._search_space, self._goal = experiment.search_space.clone(), goal
        space = self._codec.space
        options: dict[str, Any] = goal_options(goal.metrics) | self._settings
        optimizer = Optimizer(space, seed=self._seed, **options)
        records = _records(experiment, data, goal, self._codec)
        if last is not None and records == self._records:
            return  # what was suggested since is still pending, attached or not: the next point is another one
        state = last.state() if last is not None else self._state or optimizer.state()
        iteration = iteration_of((record.state for record in records), optimizer.settings.initial_size(space.d))
        optimizer.sync(records, replace(state, iteration=iteration))
        self._optimizer, self._records = optimizer, records

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """A point that none of the pending ones is."""
        optimizer, codec = self.optimizer, self._codec
        assert codec is not None
        # of an arm that lacks a metric Ax says that it is pending, for ever; what it has is known
        known = [codec.decode(trial.params) for trial in optimizer.trials]
        for config in pending_parameters:
            if config not in known:
                try:
                    optimizer.register(codec.encode(config))
                except (ParamsError, ValueError):
                    logger.debug("the pending point %s is out of the search space", config)
        try:
            return codec.decode(optimizer.ask().params)
        except SpaceExhaustedError as error:
            raise SearchSpaceExhausted(str(error)) from None

    def _gen(self, *args: Any, **kwargs: Any) -> GeneratorRun:
        fixed = kwargs.get("fixed_features")
        if fixed is not None and fixed.parameters:
            raise UnsupportedError(f"fixed_parameters are out of scope, got {fixed.parameters!r}.")
        return super()._gen(*args, **kwargs)

    # -- Ax saves and loads

    @classmethod
    def serialize_init_args(cls, obj: Any) -> dict[str, Any]:
        state = obj._state if obj._optimizer is None else obj._optimizer.state()
        return {
            "name": obj.name,
            "seed": obj._seed,
            "suggested_experiment_status": obj.suggested_experiment_status,
            "should_deduplicate": obj.should_deduplicate,
            "transition_criteria": list(obj.transition_criteria),
            "state": None if state is None else state.to_dict(),
            "settings": obj._settings,
        }

    @classmethod
    def deserialize_init_args(
        cls,
        args: dict[str, Any],
        decoder_registry: Any = None,
        class_decoder_registry: Any = None,
    ) -> dict[str, Any]:
        registries = {"decoder_registry": decoder_registry, "class_decoder_registry": class_decoder_registry}
        plain = {name: object_from_json(value, **registries) for name, value in args.items()}
        return {**plain.pop("settings"), **plain}


def _to_json(node: CCGBOGenerationNode) -> dict[str, Any]:
    return {"__type": CCGBOGenerationNode.__name__, **CCGBOGenerationNode.serialize_init_args(node)}


CORE_ENCODER_REGISTRY[CCGBOGenerationNode] = _to_json
CORE_DECODER_REGISTRY[CCGBOGenerationNode.__name__] = CCGBOGenerationNode


# -- from the experiment to the engine


def _records(experiment: Experiment, data: Data, goal: Goal, codec: Codec) -> list[Trial]:
    """Every arm with an outcome, as the engine's own record."""
    measured: dict[tuple[int, str], dict[str, tuple[float, float]]] = {}
    for row in data.df.itertuples():
        key = int(row.trial_index), str(row.arm_name)
        sem = math.nan if row.sem is None else float(row.sem)
        measured.setdefault(key, {})[str(row.metric_signature)] = float(row.mean), sem
    ends = goal.ends(measured.values())
    records: list[Trial] = []
    for index, trial in sorted(experiment.trials.items()):
        for arm in trial.arms:
            outcome = _outcome(trial.status, goal, measured.get((index, arm.name), {}), ends)
            params = _encoded(codec, arm.parameters)
            if outcome is None or params is None:
                continue
            records.append(Trial(id=len(records), params=params, origin="external", **outcome))
    return records


def _outcome(status: TrialStatus, goal: Goal, measured: Measured, ends: Ends) -> dict[str, Any] | None:
    if status is TrialStatus.FAILED:
        return {"state": "failed", "error": "the trial failed"}
    if status in (TrialStatus.COMPLETED, TrialStatus.EARLY_STOPPED):
        return goal.outcome(measured, ends)
    return None


def _encoded(codec: Codec, config: TParameterization) -> dict[str, Any] | None:
    """The point of an arm, None where it is out of the search space."""
    try:
        params = codec.encode(config)
        codec.space.encode(params)
    except (ParamsError, ValueError):
        return None
    return params
