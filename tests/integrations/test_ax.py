"""The Ax generation node, through Ax's own client and generation strategy."""

from __future__ import annotations

import importlib
import logging
import math
import re
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.space import Categorical, Fixed, Float, Int, LinearConstraint

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Ax and linear_operator import their own deprecated modules
    import torch
    from ax.adapter.registry import Generators
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
    from ax.core.parameter import (
        ChoiceParameter,
        DerivedParameter,
        FixedParameter,
        ParameterType,
        RangeParameter,
    )
    from ax.core.parameter_constraint import ParameterConstraint
    from ax.core.search_space import SearchSpace
    from ax.exceptions.core import OptimizationComplete
    from ax.generation_strategy.generation_node import GenerationNode
    from ax.generation_strategy.generation_strategy import GenerationStrategy
    from ax.generation_strategy.generator_spec import GeneratorSpec
    from ax.generation_strategy.transition_criterion import MinTrials
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement

    from ccgbo.integrations._ax_space import convert_search_space
    from ccgbo.integrations.ax import CCGBOGenerationNode
    from ccgbo.integrations.botorch import CreditWeightedAcquisitionFunction

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),  # Ax with pandas 3
    pytest.mark.filterwarnings("ignore:add_tracking_metric is deprecated:DeprecationWarning"),  # Ax's own client
]

ROOT = Path(__file__).parents[2]

X = RangeParameterConfig(name="x", parameter_type="float", bounds=(-5.0, 10.0))
LR = RangeParameterConfig(name="lr", parameter_type="float", bounds=(1e-4, 1.0), scaling="log")
N = RangeParameterConfig(name="n", parameter_type="int", bounds=(1, 8))
ACT = ChoiceParameterConfig(name="act", parameter_type="str", values=["a", "b", "c"], is_ordered=False)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    for name in list(logging.Logger.manager.loggerDict):
        if name.startswith("ax."):
            logging.getLogger(name).setLevel(logging.ERROR)


def loss(p: Any) -> float:
    return float((p["x"] - 2.0) ** 2 / 20 + (math.log10(p["lr"]) + 2.0) ** 2 + 0.1 * p["n"] + (p["act"] != "b"))


def client_with(
    node: Any, *, objective: str = "-loss", parameters: Any = (X, LR, N, ACT), constraints: Any = (), outcomes: Any = ()
) -> Client:
    client = Client(random_seed=0)
    client.configure_experiment(parameters=list(parameters), parameter_constraints=list(constraints))
    client.configure_optimization(objective=objective, outcome_constraints=list(outcomes))
    client.set_generation_strategy(GenerationStrategy(name="CCGBO", nodes=[node]))
    return client


def run(client: Client, n: int, *, at_once: int = 1) -> list[dict[str, Any]]:
    seen = []
    for _ in range(n // at_once):
        for index, params in client.get_next_trials(max_trials=at_once).items():
            client.complete_trial(trial_index=index, raw_data={"loss": loss(params)})
            seen.append(dict(params))
    return seen


# -- search spaces


def test_ax_parameters_become_parameters_of_the_core() -> None:
    codec = convert_search_space(
        SearchSpace(
            parameters=[
                RangeParameter("a", ParameterType.FLOAT, -1.0, 2.0),
                RangeParameter("b", ParameterType.FLOAT, 1e-3, 1e3, log_scale=True),
                RangeParameter("c", ParameterType.INT, 3, 9),
                RangeParameter("d", ParameterType.INT, 1, 99, log_scale=True),
                RangeParameter("e", ParameterType.FLOAT, 0.1, 0.9, logit_scale=True),
                RangeParameter("f", ParameterType.FLOAT, 0.0, 1.0, digits=2),
                ChoiceParameter("g", ParameterType.STRING, ["u", "v", "w"], is_ordered=False, sort_values=False),
                ChoiceParameter("h", ParameterType.INT, [8, 16, 64], is_ordered=True, sort_values=True),
                ChoiceParameter("i", ParameterType.BOOL, [True, False], is_ordered=False, sort_values=False),
                FixedParameter("j", ParameterType.STRING, "same"),
                DerivedParameter("k", ParameterType.FLOAT, expression_str="2 * a + 1"),
            ]
        )
    )
    logit = math.log(9.0)
    expected = {
        "a": Float(-1.0, 2.0),
        "b": Float(1e-3, 1e3, log=True),
        "c": Int(3, 9),
        "d": Int(1, 99, log=True),
        "e": Float(-logit, logit),
        "f": Float(0.0, 1.0),
        "g": Categorical(["u", "v", "w"]),
        "h": Int(0, 2),
        "i": Categorical([True, False]),
        "j": Fixed("same"),
    }
    assert {k: p for k, p in codec.space.items() if k != "e"} == {k: p for k, p in expected.items() if k != "e"}
    assert (codec.space["e"].low, codec.space["e"].high) == pytest.approx((-logit, logit))
    point = {"a": 0.5, "b": 1.0, "c": 4, "d": 7, "e": 0.0, "f": 0.12345, "g": "v", "h": 2, "i": False, "j": "same"}
    config = codec.decode(point)
    assert config == {**point, "e": 0.5, "f": 0.12, "h": 64, "k": 2.0}
    assert codec.encode(config) == pytest.approx({**point, "f": 0.12}) or codec.encode(config) == {**point, "f": 0.12}


def test_a_hierarchical_space_keeps_its_conditions() -> None:
    space = SearchSpace(
        parameters=[
            ChoiceParameter(
                "kind",
                ParameterType.STRING,
                ["svm", "tree", "none"],
                is_ordered=False,
                sort_values=False,
                dependents={"svm": ["c", "tag"], "tree": ["depth"]},
            ),
            RangeParameter("c", ParameterType.FLOAT, 1e-3, 1e3, log_scale=True),
            RangeParameter("depth", ParameterType.INT, 1, 9),
            FixedParameter("tag", ParameterType.STRING, "kernel"),
        ]
    )
    codec = convert_search_space(space)
    rng = np.random.default_rng(0)
    for u in codec.space.sample(40, rng):
        config = codec.decode(codec.space.decode(u))
        assert space.check_membership(config)
        expected = {"svm": {"kind", "c", "tag"}, "tree": {"kind", "depth"}, "none": {"kind"}}
        assert set(config) == expected[config["kind"]]


def test_linear_constraints_are_kept_also_over_ordered_choices() -> None:
    parameters = [
        RangeParameter("a", ParameterType.FLOAT, 0.0, 10.0),
        RangeParameter("b", ParameterType.INT, 0, 10),
        ChoiceParameter("c", ParameterType.INT, [1, 4, 16], is_ordered=True, sort_values=True, log_scale=False),
    ]
    space = SearchSpace(parameters, [ParameterConstraint(inequality="a + 2*b <= 12")])
    assert convert_search_space(space).space.constraints == (LinearConstraint({"a": 1.0, "b": 2.0}, upper=12.0),)
    mixed = SearchSpace(parameters, [ParameterConstraint(inequality="a + c <= 9")])
    codec = convert_search_space(mixed)
    configs = [codec.decode(codec.space.decode(u)) for u in codec.space.sample(50, np.random.default_rng(0))]
    assert all(config["a"] + config["c"] <= 9.0 for config in configs)
    assert {config["c"] for config in configs} == {1, 4}


@pytest.mark.parametrize(
    ("parameters", "constraints", "message"),
    [
        (
            [RangeParameter("f", ParameterType.FLOAT, 0.0, 1.0, is_fidelity=True, target_value=1.0)],
            [],
            "'f' must be searched or fixed, got a fidelity",
        ),
        (
            [RangeParameter("a", ParameterType.FLOAT, 0.0, 1.0), RangeParameter("b", ParameterType.FLOAT, 0.0, 1.0)],
            [ParameterConstraint(equality="a + b == 1")],
            "must be inequalities",
        ),
    ],
)
def test_what_the_core_cannot_search_is_refused_by_name(parameters: Any, constraints: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        convert_search_space(SearchSpace(parameters, constraints))


# -- through the client


def test_it_finds_better_arms_than_its_first_points() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=8)
    client = client_with(node, constraints=["x + n <= 12"])
    seen = run(client, 24)
    values = [loss(p) for p in seen]
    assert min(values[8:]) < min(values[:8])
    assert min(values) < 0.8
    assert all(p["x"] + p["n"] <= 12.0 for p in seen)
    best, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert loss(best) == min(values)


def test_maximising_is_the_mirror_of_minimising() -> None:
    first = run(client_with(CCGBOGenerationNode(seed=0, n_initial=4)), 8)
    client = client_with(CCGBOGenerationNode(seed=0, n_initial=4), objective="gain")
    for expected in first:
        ((index, params),) = client.get_next_trials(max_trials=1).items()
        assert params == expected
        client.complete_trial(trial_index=index, raw_data={"gain": -loss(params)})


def test_a_weighted_sum_of_metrics_is_one_objective() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=2)
    client = client_with(node, objective="2*good - bad")
    ((index, _),) = client.get_next_trials(max_trials=1).items()
    client.complete_trial(trial_index=index, raw_data={"good": (3.0, 0.1), "bad": (1.0, 0.2)})
    client.get_next_trials(max_trials=1)
    (trial,) = (t for t in node.optimizer.trials if t.state == "complete")
    assert trial.value == pytest.approx(5.0)
    assert trial.noise_variance == pytest.approx((2 * 0.1) ** 2 + 0.2**2)


def test_standard_errors_are_taken_and_unknown_ones_are_learned() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    client = client_with(node)
    for index, sem in zip(client.get_next_trials(max_trials=2), (0.3, None), strict=True):
        client.complete_trial(trial_index=index, raw_data={"loss": 1.0 if sem is None else (1.0, sem)})
    client.get_next_trials(max_trials=1)
    noises = [t.noise_variance for t in node.optimizer.trials if t.state == "complete"]
    assert noises == [pytest.approx(0.09), None]


def test_trials_asked_for_together_are_all_different_and_all_pending() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    client = client_with(node)
    run(client, 6)
    together = list(client.get_next_trials(max_trials=4).values())
    more = list(client.get_next_trials(max_trials=2).values())
    assert len({str(sorted(p.items())) for p in together + more}) == 6
    assert len(node.optimizer.pending) == 6


def test_repeat_calls_without_attaching_give_different_points() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    client = client_with(node)
    run(client, 8)
    strategy, experiment = client._generation_strategy, client._experiment
    arms = [strategy.gen(experiment=experiment, n=1)[0][0].arms[0].parameters for _ in range(4)]
    points = np.array([[p["x"] / 15, math.log10(p["lr"]) / 4, p["n"] / 8] for p in arms])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(4, 1)]
    different_act = np.array([arms[i]["act"] != arms[j]["act"] for i, j in zip(*np.triu_indices(4, 1), strict=True)])
    assert np.all((apart > 1e-3) | different_act)


def test_points_that_another_party_evaluates_are_avoided() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=3)
    client = client_with(node, parameters=[N])
    client.attach_trial(parameters={"n": 3})
    client.mark_trial_abandoned(client.attach_trial(parameters={"n": 4}))
    seen = [p["n"] for p in client.get_next_trials(max_trials=6).values()]
    assert sorted(seen) == [1, 2, 5, 6, 7, 8]


@pytest.mark.filterwarnings("ignore:Parameterization .* is in out-of-design:RuntimeWarning")
def test_arms_from_elsewhere_are_learned_and_those_out_of_design_ignored() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=3)
    client = client_with(node)
    inside = {"x": 2.0, "lr": 0.01, "n": 1, "act": "b"}
    client.complete_trial(client.attach_trial(parameters=inside), raw_data={"loss": 0.1})
    client.complete_trial(client.attach_trial(parameters=inside | {"x": 99.0}), raw_data={"loss": 0.0})
    client.attach_trial(parameters=inside | {"n": 99})  # pending, and no concern of ours either
    client.get_next_trials(max_trials=1)
    assert [dict(t.params) for t in node.optimizer.trials if t.state == "complete"] == [inside]


def test_failed_trials_and_values_that_are_not_numbers_are_places_to_avoid() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=3)
    client = client_with(node)
    first, second = client.get_next_trials(max_trials=2)
    client.mark_trial_failed(first)
    client.complete_trial(second, raw_data={"loss": math.nan})
    run(client, 5)
    states = [t.state for t in node.optimizer.trials]
    assert states[:2] == ["failed", "failed"]
    assert states.count("complete") == 4  # as of the last suggestion


def test_the_schedule_of_credit_counts_the_trials_after_the_design() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    client = client_with(node)
    run(client, 9)
    client.get_next_trials(max_trials=1)
    explained = node.optimizer.explain(node.optimizer.pending[-1])
    assert explained.t == 5


def test_it_takes_over_from_a_sobol_node() -> None:
    sobol = GenerationNode(
        name="Sobol",
        generator_specs=[GeneratorSpec(Generators.SOBOL)],
        transition_criteria=[MinTrials(threshold=5, transition_to="CCGBO")],
    )
    node = CCGBOGenerationNode(seed=0, n_initial=5)
    client = client_with(node)
    client.set_generation_strategy(GenerationStrategy(name="both", nodes=[sobol, node]))
    run(client, 7)
    assert len(node.optimizer.trials) == 7
    assert node.optimizer.explain(node.optimizer.trials[-1]).reason != "initial design"


def test_a_finite_space_that_is_used_up_ends_the_optimization() -> None:
    client = client_with(CCGBOGenerationNode(seed=0, n_initial=3), parameters=[N])
    assert sorted(p["n"] for p in client.get_next_trials(max_trials=8).values()) == list(range(1, 9))
    with pytest.raises(OptimizationComplete, match="every point of the space"):
        client.get_next_trials(max_trials=1)


def test_a_saved_client_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    whole, cut = (client_with(CCGBOGenerationNode(seed=0, n_initial=4, credit={"tau": 2.0})) for _ in range(2))
    expected = run(whole, 10)
    assert run(cut, 6) == expected[:6]
    cut.save_to_json_file(str(tmp_path / "client.json"))
    loaded = Client.load_from_json_file(str(tmp_path / "client.json"))
    for got, want in zip(run(loaded, 4), expected[6:], strict=True):  # Ax stores values with 10 decimals
        assert got.pop("act") == want.pop("act")
        assert got == pytest.approx(want, rel=1e-5)
    (node,) = loaded._generation_strategy._nodes
    assert isinstance(node, CCGBOGenerationNode)
    assert node.optimizer.settings.credit.tau == 2.0


def test_credits_name_the_parameterizations() -> None:
    node = CCGBOGenerationNode(seed=0, n_initial=4)
    with pytest.raises(SettingError, match="must have generated something"):
        node.credits()
    client = client_with(node)
    seen = run(client, 8)
    client.get_next_trials(max_trials=1)
    rows = node.credits()
    assert rows[0][1] == 1.0
    assert sorted(str(p) for p, _ in rows) == sorted(str(p) for p in seen)


def test_what_is_out_of_scope_is_refused_by_name() -> None:
    client = client_with(CCGBOGenerationNode(seed=0), outcomes=["size <= 1.1 * baseline"])
    with pytest.raises(UnsupportedError, match="relative to a baseline"):
        client.get_next_trials(max_trials=1)
    client = client_with(CCGBOGenerationNode(seed=0))
    with pytest.raises(UnsupportedError, match=r"fixed_parameters are out of scope, got \{'n': 3\}"):
        client.get_next_trials(max_trials=1, fixed_parameters={"n": 3})


def test_wrong_settings_are_refused_before_ax_asks() -> None:
    for wrong, message in (
        ({"preset": "none"}, "preset must be one of"),
        ({"seed": -1}, "seed must be None or a whole number >= 0, got -1"),
        ({"credit": {"n_paths": 2.5}}, "n_paths must be a whole number"),
        ({"random_state": 1}, "no setting 'random_state': did you mean 'seed'"),
    ):
        with pytest.raises(SettingError, match=message):
            CCGBOGenerationNode(**wrong)


def test_without_ax_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ax", "_ax_goal", "_ax_space"):
        monkeypatch.delitem(sys.modules, f"ccgbo.integrations.{name}")
    monkeypatch.setitem(sys.modules, "ax.core.data", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ccgbo\[ax\]'"):
        importlib.import_module("ccgbo.integrations.ax")


# -- the BoTorch acquisition inside Ax's own generator


def test_ax_builds_the_credit_weighted_acquisition_from_its_registered_constructor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    original = CreditWeightedAcquisitionFunction.__init__

    def spy(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(CreditWeightedAcquisitionFunction, "__init__", spy)
    client = client_with(CCGBOGenerationNode(seed=0, n_initial=8), parameters=[X, LR])
    for index, p in client.get_next_trials(max_trials=8).items():
        value = (p["x"] - 2.0) ** 2 / 20 + (math.log10(p["lr"]) + 2.0) ** 2
        client.complete_trial(index, raw_data={"loss": (value, 0.01)})
    adapter = Generators.BOTORCH_MODULAR(
        experiment=client._experiment,
        data=client._experiment.lookup_data(),
        botorch_acqf_class=CreditWeightedAcquisitionFunction,
        acquisition_options={"t": 0, "seed": 0},
    )
    torch.manual_seed(0)
    (arm,) = adapter.gen(n=1).arms
    assert -5.0 <= arm.parameters["x"] <= 10.0
    assert 1e-4 <= arm.parameters["lr"] <= 1.0
    assert made[0].t == 0
    assert made[0].field is not None
    assert isinstance(made[0].acq_func, qLogNoisyExpectedImprovement)


# -- what is printed


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples/ax_client.py"), run_name="example")
    best = example["main"](n_trials=16)
    assert "most credited" in capsys.readouterr().out
    assert example["evaluate"](best)["loss"] < 2.0


def test_the_page_runs_as_it_is_printed() -> None:
    page = (ROOT / "docs/integrations/ax.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(code, "ax.md", "exec"), namespace)
    assert len(namespace["client"].summarize()) == 12
    assert namespace["node"].credits()[0][1] == 1.0
