"""Several objectives and outcome constraints through Ax's own client."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import pytest

from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.metrics import AtLeast, AtMost, Between

from .test_ax import client_with

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Ax and linear_operator import their own deprecated modules
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig
    from ax.core.objective import MultiObjective, Objective
    from ax.core.optimization_config import MultiObjectiveOptimizationConfig

    from ccgbo.integrations._ax_goal import Goal
    from ccgbo.integrations.ax import CCGBOGenerationNode

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),  # Ax with pandas 3
    pytest.mark.filterwarnings("ignore:add_tracking_metric is deprecated:DeprecationWarning"),  # Ax's own client
]

BOX = [RangeParameterConfig(name=name, parameter_type="float", bounds=(0.0, 1.0)) for name in ("x", "y")]
TWO: Any = {"parameters": BOX, "objective": "-cost, gain", "outcomes": ["impurity <= 0.5"]}


def measure(p: Any) -> dict[str, float]:
    """The front is the line between (0, 0) and (1, 1), of which the bound leaves a half."""
    x, y = p["x"], p["y"]
    return {"cost": x + y + (x - y) ** 2, "gain": x + y - (x - y) ** 2, "impurity": x}


def play(client: Client, n: int) -> list[dict[str, Any]]:
    seen = []
    for _ in range(n):
        ((index, params),) = client.get_next_trials(max_trials=1).items()
        client.complete_trial(trial_index=index, raw_data=measure(params))
        seen.append(dict(params))
    return seen


def goal_of(**options: Any) -> Goal:
    client = client_with(CCGBOGenerationNode(seed=0), **{"parameters": BOX, **options})
    return Goal.of(client._experiment.optimization_config)


def told(node: CCGBOGenerationNode, client: Client, rows: list[dict[str, Any]]) -> list[Any]:
    """The engine's records of trials with these data."""
    for row in rows:
        ((index, _),) = client.get_next_trials(max_trials=1).items()
        client.complete_trial(trial_index=index, raw_data=row)
    client.get_next_trials(max_trials=1)
    return [t for t in node.optimizer.trials if t.state != "pending"]


# -- what is sought


def test_objectives_and_constraints_have_the_names_of_their_metrics() -> None:
    metrics = goal_of(objective="-cost, gain", outcomes=["impurity <= 0.02", "ph >= 6.5", "ph <= 7.5"]).metrics
    assert metrics.objectives == {"cost": "minimize", "gain": "maximize"}
    assert metrics.constraints == {"impurity": AtMost(0.02), "ph": Between(6.5, 7.5)}


def test_ax_old_class_for_several_objectives_is_read_alike() -> None:
    names = {"cost": "cost", "gain": "gain"}
    parts = [Objective(expression=each, metric_name_to_signature=names) for each in ("-cost", "gain")]
    with pytest.warns(DeprecationWarning, match="MultiObjective is deprecated"):
        objective = MultiObjective(objectives=parts)
    config = MultiObjectiveOptimizationConfig(objective=objective)
    assert Goal.of(config).metrics.objectives == {"cost": "minimize", "gain": "maximize"}


def test_weighted_sums_become_one_derived_metric_each() -> None:
    goal = goal_of(objective="2*a - b, -c", outcomes=["d + 3*e <= 4", "-2*f <= 6"])
    assert goal.metrics.objectives == {"2*a - b": "maximize", "c": "minimize"}
    assert goal.metrics.constraints == {"d + 3*e": AtMost(4.0), "f": AtLeast(-3.0)}
    outcome = goal.outcome({"a": (3.0, 0.1), "b": (1.0, 0.2), "d": (1.0, math.nan), "e": (0.5, 0.1)})
    assert outcome is not None
    assert {name: m.value for name, m in outcome["metrics"].items()} == {"2*a - b": 5.0, "d + 3*e": 2.5}
    assert outcome["metrics"]["2*a - b"].noise_variance == pytest.approx(0.04 + 0.04)
    assert outcome["metrics"]["d + 3*e"].noise_variance is None


def test_a_threshold_of_an_objective_bounds_it() -> None:
    goal = goal_of(objective="-2*cost, gain", outcomes=["gain >= 0.5", "cost <= 3"])
    assert goal.metrics.constraints == {"gain": AtLeast(0.5), "cost": AtMost(3.0)}
    outcome = goal.outcome({"cost": (2.5, math.nan), "gain": (1.0, math.nan)})
    assert outcome is not None
    assert outcome["metrics"]["cost"].value == 2.5  # a weight of one metric alone changes nothing


def test_one_objective_without_constraints_has_no_names() -> None:
    goal = goal_of(objective="-loss")
    assert goal.metrics.plain
    assert goal.metrics.direction == "minimize"


def test_what_is_relative_to_a_baseline_is_refused_by_name() -> None:
    for outcome in ("impurity <= 1.1 * baseline", "gain >= 0.9 * baseline"):
        with pytest.raises(UnsupportedError, match=r"relative to a baseline are out of scope, got .*baseline"):
            goal_of(objective="-cost, gain", outcomes=[outcome])


def test_goals_are_said_to_ax_and_not_to_the_node() -> None:
    for given in ({"objectives": {"a": "maximize"}}, {"outcome_constraints": {"a": AtMost(1.0)}}, {"objective": "a"}):
        with pytest.raises(UnsupportedError, match=f"{next(iter(given))} must be left out here: Ax says it by"):
            CCGBOGenerationNode(**given)  # type: ignore[arg-type]


def test_more_objectives_than_the_engine_has_are_refused() -> None:
    client = client_with(CCGBOGenerationNode(seed=0), parameters=BOX, objective="a, b, c, d, e, f")
    with pytest.raises(SettingError, match="objectives must be a mapping of 1 to 5 names"):
        client.get_next_trials(max_trials=1)


# -- what is told


def test_every_metric_is_told_with_its_standard_error() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    row = {"cost": (1.0, 0.1), "gain": 2.0, "impurity": (0.7, 0.2)}
    (trial,) = told(node, client_with(node, **TWO), [row])
    assert (trial.state, trial.value) == ("complete", None)
    assert trial.values == {"cost": 1.0, "gain": 2.0, "impurity": 0.7}
    noises = {name: measured.noise_variance for name, measured in trial.metrics.items()}
    assert noises == {"cost": pytest.approx(0.01), "gain": None, "impurity": pytest.approx(0.04)}


def test_a_broken_constraint_is_measured_and_no_failure() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    client = client_with(node, outcomes=["size <= 4", "speed >= 2"])
    rows = [{"loss": 1.0, "size": 5.0, "speed": 3.0}, {"loss": 2.0, "size": 4.0, "speed": 2.0}]
    broken, kept = told(node, client, rows)
    assert (broken.state, broken.value) == ("complete", 1.0)
    assert broken.values == rows[0]
    assert node.optimizer.best_trial.values == kept.values


@pytest.mark.filterwarnings("ignore:.*missing:UserWarning")
def test_a_metric_that_is_nan_is_not_measured_and_the_others_count() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    nan = math.nan
    rows = [{"cost": 1.0, "gain": nan, "impurity": 0.1}, {"cost": nan, "gain": nan, "impurity": nan}]
    some, none = told(node, client_with(node, **TWO), rows)
    assert some.values == {"cost": 1.0, "impurity": 0.1}
    assert none.state == "failed"
    assert none.reason == "cost was nan, gain was nan, impurity was nan"


def test_an_arm_that_lacks_a_metric_is_known_and_not_also_pending() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=2)
    client = client_with(node, **TWO)
    told(node, client, [{"cost": 1.0, "impurity": 0.1}, {"cost": 2.0, "gain": 1.0, "impurity": 0.1}])
    client.get_next_trials(max_trials=1)
    evaluated = [t.params for t in node.optimizer.trials if t.state == "complete"]
    assert len(evaluated) == 2
    assert all(t.params not in evaluated for t in node.optimizer.pending)


def test_a_metric_that_is_infinite_is_bad_and_not_missing() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    rows = [
        {"cost": 1.0, "gain": 3.0, "impurity": 0.1},
        {"cost": 2.0, "gain": 4.0, "impurity": math.inf},
        {"cost": math.inf, "gain": (-math.inf, 0.1), "impurity": 0.2},
    ]
    _, broken, worst = told(node, client_with(node, **TWO), rows)
    assert broken.values == {"cost": 2.0, "gain": 4.0, "impurity": 0.9}  # as far beyond 0.5 as any lies from it
    assert worst.values == {"cost": 2.0, "gain": 3.0, "impurity": 0.2}


# -- through the client


def test_it_finds_the_feasible_front() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=6)
    client = client_with(node, **TWO)
    seen = play(client, 24)
    late = seen[6:]
    assert sum(p["x"] <= 0.5 + 1e-6 for p in late) >= 0.7 * len(late)
    assert sum(abs(p["x"] - p["y"]) < 0.15 for p in late) >= 0.5 * len(late)
    client.get_next_trials(max_trials=1)
    front = node.optimizer.pareto_front()
    assert all(trial.values["impurity"] <= 0.5 for trial in front)
    ours = sorted(trial.values["cost"] for trial in front)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ax, at its own ways
        theirs = client.get_pareto_frontier(use_model_predictions=False)
    assert sorted(values["cost"][0] for _, values, *_ in theirs) == pytest.approx(ours)
    assert node.credits()[0][1] == 1.0


def test_it_finds_the_least_value_that_a_constraint_allows() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=6)
    client = client_with(node, parameters=BOX, objective="-total", outcomes=["curved >= 0.75"])
    for _ in range(20):
        ((index, p),) = client.get_next_trials(max_trials=1).items()
        client.complete_trial(trial_index=index, raw_data={"total": p["x"] + p["y"], "curved": p["x"] + p["y"] ** 2})
    _, values, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert values["curved"][0] >= 0.75
    assert values["total"][0] < 0.80  # 0.75 is the least, at (0.75, 0)


@pytest.mark.filterwarnings("ignore:Passing `metric` to OutcomeConstraint is deprecated")  # Ax's own decoder
def test_a_saved_client_with_metrics_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    whole, cut = (client_with(CCGBOGenerationNode(seed=0, n_initial=5), **TWO) for _ in range(2))
    expected = play(whole, 12)
    assert play(cut, 8) == expected[:8]
    cut.save_to_json_file(str(tmp_path / "client.json"))
    loaded = Client.load_from_json_file(str(tmp_path / "client.json"))
    for got, want in zip(play(loaded, 4), expected[8:], strict=True):  # Ax stores values with 10 decimals
        assert got == pytest.approx(want, rel=1e-4, abs=1e-5)


def test_a_constraint_that_is_added_later_is_learned_from_then_on() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    client = client_with(node, parameters=BOX, objective="-cost")
    play(client, 5)
    client.configure_optimization(objective="-cost", outcome_constraints=["impurity <= 0.5"])
    play(client, 2)
    client.get_next_trials(max_trials=1)
    assert node.optimizer.metrics.constraints == {"impurity": AtMost(0.5)}
    assert [set(t.values) for t in node.optimizer.trials if t.state == "complete"][-1] == {"cost", "impurity"}
