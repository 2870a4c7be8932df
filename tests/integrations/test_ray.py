"""The Ray Tune search algorithm: its contract alone, then a real local Ray."""

from __future__ import annotations

import importlib
import logging
import math
import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import tune
from ray.tune.search import ConcurrencyLimiter, Searcher

from ccgbo import AtMost
from ccgbo.errors import MissingExtraError, ParamsError, SettingError, SpaceError, UnsupportedError
from ccgbo.integrations.ray import CCGBOSearch, convert_search_space
from ccgbo.space import Categorical, Float, Int, LinearConstraint, Space

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]

SPACE = {
    "x": tune.uniform(-5.0, 10.0),
    "net": {"lr": tune.loguniform(1e-4, 1.0)},
    "n": tune.randint(1, 9),
    "constant": 3,
}


def loss(config: dict[str, Any]) -> float:
    return (config["x"] - 2.0) ** 2 / 20 + (math.log10(config["net"]["lr"]) + 2.0) ** 2 + 0.1 * config["n"]


def searching(**options: Any) -> CCGBOSearch:
    return CCGBOSearch(SPACE, metric="loss", mode="min", seed=0, **options)


def run(search: Any, n: int, first: int = 0) -> list[dict[str, Any]]:
    configs = []
    for i in range(first, first + n):
        config = search.suggest(f"trial{i}")
        configs.append(config)
        search.on_trial_complete(f"trial{i}", {"loss": loss(config)})
    return configs


# -- search spaces


def test_ray_domains_become_parameters_of_the_core() -> None:
    space = convert_search_space(
        {
            "a": tune.uniform(-1, 2),
            "b": tune.quniform(0.0, 1.0, 0.25),
            "c": tune.loguniform(1e-3, 1e3),
            "d": tune.randint(3, 10),
            "e": tune.qrandint(4, 18, 4),
            "f": tune.lograndint(1, 100),
            "g": tune.choice(["x", "y", None, 3]),
            "h": {"deep": {"er": tune.uniform(0, 1)}},
            "i": "a constant",
        }
    ).space
    assert dict(space) == {
        "a": Float(-1.0, 2.0),
        "b": Float(0.0, 1.0, step=0.25),
        "c": Float(1e-3, 1e3, log=True),
        "d": Int(3, 9),
        "e": Int(4, 16, step=4),
        "f": Int(1, 99, log=True),
        "g": Categorical(["x", "y", None, 3]),
        "h/deep/er": Float(0.0, 1.0),
    }


@pytest.mark.parametrize(
    "domain", [tune.qrandint(3, 21, 5), tune.randint(2, 6), tune.qrandint(2, 6, 1), tune.lograndint(1, 5)]
)
def test_whole_numbers_take_the_values_that_ray_itself_draws(domain: Any) -> None:
    parameter = convert_search_space({"n": domain}).space["n"]
    ours = {parameter.from_unit(u / 500) for u in range(501)}
    assert ours == {int(v) for v in domain.sample(size=2000, random_state=0)}


def test_quantized_log_ranges_keep_to_multiples() -> None:
    codec = convert_search_space({"a": tune.qloguniform(0.1, 10.0, 0.1), "b": tune.qlograndint(8, 512, 8)})
    assert dict(codec.space) == {"a": Int(1, 100, log=True), "b": Int(1, 64, log=True)}
    config = codec.decode({"a": 3, "b": 5})
    assert config == {"a": 0.3, "b": 40}
    assert type(config["b"]) is int
    assert codec.encode(config) == {"a": 3, "b": 5}
    with pytest.raises(ParamsError, match=r"multiple of 0\.1, got 0\.25"):
        codec.encode({"a": 0.25, "b": 8})


def test_choices_of_any_kind_come_back_as_they_were() -> None:
    choices = [[64, 64], {"depth": 2}, math.sin, "plain"]
    codec = convert_search_space({"net": tune.choice(choices), "x": tune.uniform(0, 1)})
    for i, choice in enumerate(choices):
        config = codec.decode({"net": i, "x": 0.5})
        assert config["net"] is choice
        assert codec.encode(config) == {"net": i, "x": 0.5}
    with pytest.raises(ParamsError, match="must be one of"):
        codec.encode({"net": "other", "x": 0.5})


def test_nested_and_joined_names_are_the_same_point() -> None:
    codec = convert_search_space(SPACE)
    nested = {"x": 0.0, "net": {"lr": 0.1, "constant": 2}, "n": 2, "constant": 3}
    assert codec.encode(nested) == codec.encode({"x": 0.0, "net/lr": 0.1, "n": 2}) == {"x": 0.0, "net/lr": 0.1, "n": 2}
    assert codec.decode(codec.encode(nested)) == {"x": 0.0, "net": {"lr": 0.1}, "n": 2, "constant": 3}


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ({"x": tune.grid_search([1, 2])}, UnsupportedError, "grid_search is out of scope, got it for 'x'"),
        ({"x": tune.randn(0, 1)}, UnsupportedError, "'x'.*got Float with Normal sampling"),
        ({"x": tune.sample_from(lambda _: 1)}, UnsupportedError, "'x'.*got Function"),
        ({"x": [tune.uniform(0, 1)]}, UnsupportedError, "names without '/', got"),
        ({"a/b": tune.uniform(0, 1)}, UnsupportedError, "names without '/', got"),
        ({"x": 3}, SpaceError, "at least one parameter to search"),
        ({"n": tune.qrandint(5, 6, 4)}, SpaceError, "Int.low must be <= Int.high"),
    ],
)
def test_spaces_that_cannot_be_searched_are_refused_by_name(spec: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        convert_search_space(spec)


def test_constants_of_a_space_given_to_the_search_are_in_every_configuration() -> None:
    assert searching().suggest("a")["constant"] == 3
    search = CCGBOSearch({"a": {"x": tune.uniform(0.0, 1.0), "k": [1, 2]}}, metric="loss", mode="min", seed=0)
    assert search.suggest("a")["a"]["k"] == [1, 2]
    from_tuner = CCGBOSearch(seed=0)
    from_tuner.set_search_properties("loss", "min", SPACE)
    assert "constant" not in from_tuner.suggest("a")  # Ray puts its own in


def test_parameters_of_ray_and_of_the_core_may_stand_side_by_side() -> None:
    codec = convert_search_space({"x": tune.uniform(0.0, 1.0), "net": {"n": Int(1, 5)}})
    assert dict(codec.space) == {"x": Float(0.0, 1.0), "net/n": Int(1, 5)}
    assert codec.decode({"x": 0.5, "net/n": 2}) == {"x": 0.5, "net": {"n": 2}}


def test_a_text_beside_parameters_of_the_core_is_a_constant() -> None:
    assert convert_search_space({"x": Float(0.0, 1.0), "opt": "adam"}).space["opt"] == Categorical(["adam"])


def test_a_space_of_the_core_brings_conditions_and_constraints() -> None:
    space = Space(
        {"kind": ["a", "b"], "x": (0.0, 1.0), "y": Float(0.0, 1.0, active_if={"kind": "b"})},
        constraints=LinearConstraint({"x": 1.0}, upper=0.5),
    )
    search = CCGBOSearch(space, metric="loss", mode="min", seed=0, n_initial=4)
    for i in range(8):
        config = search.suggest(str(i))
        assert config["x"] <= 0.5
        assert ("y" in config) == (config["kind"] == "b")
        search.on_trial_complete(str(i), {"loss": config["x"]})


# -- the searcher alone


def test_it_finds_better_configurations_than_its_first_points() -> None:
    search = searching(n_initial=8)
    values = [loss(config) for config in run(search, 24)]
    assert min(values[8:]) < min(values[:8])
    assert min(values) < 0.6
    assert search.optimizer.best_value == min(values)


def test_mode_max_is_the_mirror_of_mode_min() -> None:
    low = searching()
    high = CCGBOSearch(SPACE, metric="loss", mode="max", seed=0)
    for i in range(14):
        a, b = low.suggest(str(i)), high.suggest(str(i))
        assert a == b
        low.on_trial_complete(str(i), {"loss": loss(a)})
        high.on_trial_complete(str(i), {"loss": -loss(b)})


def test_the_tuner_brings_space_metric_and_mode() -> None:
    search = CCGBOSearch(seed=0)
    with pytest.raises(SettingError, match="space and mode must be given"):
        search.suggest("a")
    assert search.set_search_properties("loss", "min", SPACE)
    assert [config | {"constant": 3} for config in run(search, 3)] == run(searching(), 3)
    assert not search.set_search_properties("loss", "min", SPACE)


def test_a_space_given_first_still_takes_metric_and_mode_from_the_tuner() -> None:
    search = CCGBOSearch(SPACE, seed=0)
    assert not search.set_search_properties("loss", "min", {"constant": 1})
    assert run(search, 3) == run(searching(), 3)


def test_a_tuner_that_contradicts_the_search_is_refused() -> None:
    search = searching()
    assert search.set_search_properties("loss", "min", {}) is False
    with pytest.raises(SettingError, match="mode must be the same for CCGBOSearch and for Tuner, got 'min' and 'max'"):
        search.set_search_properties("loss", "max", {})
    with pytest.raises(SettingError, match=r"metric must be the same .*, got 'loss' and 'accuracy'"):
        search.set_search_properties("accuracy", "min", {})


def test_without_a_metric_the_anonymous_one_is_read() -> None:
    search = CCGBOSearch(SPACE, mode="min", seed=0)
    search.suggest("a")
    search.on_trial_complete("a", {"_metric": 1.5})
    assert search.optimizer.trials[0].value == 1.5


@pytest.mark.parametrize(
    ("result", "error", "reason"),
    [
        ({"loss": math.nan}, False, "nan"),
        ({"loss": math.inf}, False, "inf"),
        ({"other": 1.0}, False, "no 'loss'"),
        (None, False, "no 'loss'"),
        (None, True, "raised an error"),
        ({"loss": 1.0}, True, "raised an error"),
    ],
    ids=["NaN", "infinite", "missing", "no result", "error", "error after a result"],
)
def test_a_trial_without_a_usable_value_is_failed_and_the_search_goes_on(result: Any, error: bool, reason: str) -> None:
    search = searching(n_initial=3)
    search.suggest("bad")
    search.on_trial_complete("bad", result, error)
    assert search.optimizer.trials[0].state == "failed"
    assert reason in (search.optimizer.trials[0].error or "")
    assert len(run(search, 5)) == 5


def test_running_trials_are_pending_and_never_suggested_twice() -> None:
    search = searching(n_initial=3)
    run(search, 4)
    running = [search.suggest(f"running{i}") for i in range(4)]
    assert len({str(config) for config in running}) == 4
    assert len(search.optimizer.pending) == 4
    search.on_trial_result("running0", {"loss": 0.1})  # intermediate results change nothing
    assert len(search.optimizer.pending) == 4


@pytest.mark.parametrize(("mode", "kept"), [("min", [2.0, 2.0, 9.0, 4.0]), ("max", [0.0, 1.0, 2.0, 2.0])])
def test_the_value_of_a_run_stopped_early_is_bounded_by_those_of_whole_runs(mode: str, kept: list[float]) -> None:
    search = CCGBOSearch(SPACE, metric="loss", mode=mode, seed=0, max_t=9)
    for i, value in enumerate((0.0, 2.0, 9.0)):
        search.suggest(f"whole{i}")
        search.on_trial_complete(f"whole{i}", {"loss": value, "training_iteration": 9})
    for i, value in enumerate((-5.0, 1.0, 50.0, 4.0)):
        search.suggest(f"short{i}")
        search.on_trial_complete(f"short{i}", {"loss": value, "training_iteration": 3})
    assert [t.value for t in search.optimizer.trials] == [0.0, 2.0, 9.0, *kept]
    again = CCGBOSearch()
    again.set_state(search.get_state())
    again.suggest("short")
    again.on_trial_complete("short", {"loss": -5.0, "training_iteration": 3})
    assert again.optimizer.trials[-1].value == kept[0]


def test_a_search_with_max_t_asks_for_its_time_attribute() -> None:
    search = searching(max_t=9, time_attr="epoch")
    search.suggest("a")
    with pytest.raises(SettingError, match="time_attr must be in the results of a search with max_t, got 'epoch'"):
        search.on_trial_complete("a", {"loss": 1.0, "training_iteration": 9})
    with pytest.raises(SettingError, match="max_t must be None or a number > 0, got 0"):
        searching(max_t=0)


def test_unknown_and_repeated_completions_are_reported_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    search = searching()
    with caplog.at_level(logging.WARNING, logger="ccgbo"):
        search.on_trial_complete("nobody", {"loss": 1.0})
        run(search, 1)
        search.on_trial_complete("trial0", {"loss": 99.0})
    assert "nobody is not one of this search, and its result has no config" in caplog.text
    assert "trial0 has ended before" in caplog.text
    assert [t.value for t in search.optimizer.trials] != [99.0]


def test_a_failed_trial_that_was_restarted_is_told_after_all() -> None:
    search = searching()
    config = search.suggest("a")
    search.on_trial_complete("a", error=True)
    search.on_trial_complete("a", {"loss": 2.5})
    assert [t.state for t in search.optimizer.trials] == ["failed", "complete"]
    assert search.optimizer.best_params == {"x": config["x"], "net/lr": config["net"]["lr"], "n": config["n"]}


def test_a_trial_restarted_under_a_new_id_is_known_by_the_config_in_its_result() -> None:
    search = searching()
    search.suggest("a")
    search.on_trial_complete("a", error=True)
    search.on_trial_complete(
        "b", {"loss": 2.5, "config/x": 1.0, "config/net/lr": 0.1, "config/n": 2, "config/constant": 3}
    )
    assert search.optimizer.best_params == {"x": 1.0, "net/lr": 0.1, "n": 2}


def test_points_to_evaluate_come_first() -> None:
    points = [{"x": 1.0, "net": {"lr": 0.01}, "n": 1}, {"x": 2.0, "net/lr": 0.1, "n": 2}]
    search = searching(points_to_evaluate=points)
    configs = run(search, 3)
    assert configs[:2] == [points[0] | {"constant": 3}, {"x": 2.0, "net": {"lr": 0.1}, "n": 2, "constant": 3}]
    assert configs[2] not in configs[:2]
    assert [t.value is not None for t in search.optimizer.trials] == [True] * 3


def test_points_to_evaluate_with_rewards_are_not_run_again() -> None:
    point = {"x": 1.0, "net": {"lr": 0.01}, "n": 1}
    search = searching(points_to_evaluate=[point], evaluated_rewards=[0.25])
    assert search.optimizer.trials[0].value == 0.25
    assert search.suggest("a") != point


def test_evaluations_made_elsewhere_are_learned_from() -> None:
    search = searching()
    good = {"x": 2.0, "net": {"lr": 0.01}, "n": 1, "constant": 3}
    search.add_evaluated_point(good, 0.1)
    search.add_evaluated_point(good | {"n": 2}, 0.0, error=True)
    search.add_evaluated_point(good | {"n": 3}, 0.0, pruned=True)
    search.add_evaluated_point(good | {"n": 4}, math.nan)
    assert [t.state for t in search.optimizer.trials] == ["complete", "failed", "failed"]


def test_several_objectives_and_constraints_are_refused_by_name() -> None:
    message = r"several objectives are out of scope: a search of Ray has one metric, got \['a', 'b'\]"
    with pytest.raises(UnsupportedError, match=message):
        CCGBOSearch(SPACE, metric=["a", "b"], mode=["min", "max"])  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=message):  # as Tuner passes on what TuneConfig has
        CCGBOSearch().set_search_properties(["a", "b"], ["min", "max"], SPACE)  # type: ignore[arg-type]
    for given in ({"objectives": {"a": "maximize"}}, {"outcome_constraints": {"a": AtMost(1.0)}}, {"objective": "a"}):
        with pytest.raises(UnsupportedError, match=f"{next(iter(given))} must be left out here: a search of Ray"):
            searching(**given)


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match="mode must be 'min' or 'max', got 'lowest'"):
        CCGBOSearch(SPACE, metric="loss", mode="lowest")
    with pytest.raises(SettingError, match="must have one length, got 1 and 0"):
        searching(evaluated_rewards=[1.0])
    with pytest.raises(SettingError, match=r"points_to_evaluate must be a list of configurations, got \{'x': 1.0\}"):
        searching(points_to_evaluate={"x": 1.0})
    for early in (CCGBOSearch().credits, lambda: CCGBOSearch().on_trial_complete("a", {"loss": 1.0})):
        with pytest.raises(SettingError, match="space and mode must be given"):
            early()
    with pytest.raises(ParamsError, match="must have a value for 'n'"):
        searching(points_to_evaluate=[{"x": 1.0, "net/lr": 0.1}])
    for wrong, message in (
        ({"preset": "none"}, "preset must be one of"),
        ({"seed": -1}, "seed must be None or a whole number >= 0, got -1"),
        ({"tuning": {"n_candidates": 10.5}}, "n_candidates must be a whole number"),
        ({"random_state": 1}, "no setting 'random_state': did you mean 'seed'"),
    ):
        with pytest.raises(SettingError, match=message):
            CCGBOSearch(**wrong)  # before Ray gives it a space


def test_a_finite_space_ends_the_search_when_it_is_used_up() -> None:
    search = CCGBOSearch({"n": tune.choice([1, 2, 3])}, metric="loss", mode="min", seed=0)
    seen = []
    for i in range(3):
        seen.append(search.suggest(str(i))["n"])
        search.on_trial_complete(str(i), {"loss": float(seen[-1])})
    assert sorted(seen) == [1, 2, 3]
    assert search.suggest("more") == Searcher.FINISHED


def test_a_restored_search_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    whole, cut = searching(n_initial=6), searching(n_initial=6)
    expected = run(whole, 14)
    assert run(cut, 7) == expected[:7]
    running = cut.suggest("trial7")
    cut.save(str(tmp_path / "state.pkl"))
    resumed = CCGBOSearch()
    resumed.restore(str(tmp_path / "state.pkl"))
    assert running == expected[7]
    resumed.on_trial_complete("trial7", {"loss": loss(running)})  # it had been running all the while
    assert run(resumed, 6, first=8) == expected[8:]


def test_a_state_before_the_space_is_known_can_be_saved(tmp_path: Path) -> None:
    CCGBOSearch(metric="loss", mode="min", seed=0).save(str(tmp_path / "state.pkl"))
    search = CCGBOSearch()
    search.restore(str(tmp_path / "state.pkl"))
    assert search.set_search_properties(None, None, SPACE)
    assert [config | {"constant": 3} for config in run(search, 3)] == run(searching(), 3)


def test_the_concurrency_limiter_holds_back_and_lets_go() -> None:
    limited = ConcurrencyLimiter(searching(), max_concurrent=2)
    assert isinstance(limited.suggest("a"), dict)
    assert isinstance(limited.suggest("b"), dict)
    assert limited.suggest("c") is None
    limited.on_trial_complete("a", {"loss": 1.0})
    assert isinstance(limited.suggest("c"), dict)


def test_credits_name_the_configurations() -> None:
    search = searching(n_initial=6)
    configs = run(search, 10)
    rows = search.credits()
    assert sorted(str(config) for config, _ in rows) == sorted(str(config) for config in configs)
    assert [credit for _, credit in rows] == sorted((credit for _, credit in rows), reverse=True)
    assert rows[0][1] == 1.0


def test_without_ray_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ray", "_ray_space"):
        monkeypatch.delitem(sys.modules, f"ccgbo.integrations.{name}")
    monkeypatch.setitem(sys.modules, "ray.tune.search", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ccgbo\[ray\]'"):
        importlib.import_module("ccgbo.integrations.ray")


# -- a real local Ray


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray starts servers and leaves their pipes to the collector
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
            _system_config={"memory_monitor_refresh_ms": 0},  # else Ray kills workers where others fill the machine
        )
    yield
    ray.shutdown()


def trainable() -> Any:
    """A training function that Ray's workers get by value: they cannot import the tests."""

    def train(config: dict[str, Any]) -> dict[str, float]:
        from math import log10, nan
        from pathlib import Path

        if config["x"] == 1.0 and not Path(config["repaired"]).exists():
            raise RuntimeError("broken")
        value = (config["x"] - 2.0) ** 2 / 20 + (log10(config["net"]["lr"]) + 2.0) ** 2 + 0.1 * config["n"]
        return {"loss": nan if config["x"] == 0.0 else value}

    return train


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")
def test_tune_runs_fails_and_restores_on_a_real_ray(local_ray: None, tmp_path: Path) -> None:  # noqa: ARG001
    first = [{"x": 0.0, "net": {"lr": 0.1}, "n": 7}, {"x": 1.0, "net": {"lr": 0.1}, "n": 8}]  # NaN, then an error
    search = CCGBOSearch(seed=0, n_initial=4, points_to_evaluate=first)
    repaired = tmp_path / "repaired"
    tuner = tune.Tuner(
        trainable(),
        param_space=SPACE | {"repaired": str(repaired)},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            num_samples=6,
            search_alg=search,  # a ConcurrencyLimiter would keep the second end of a restarted trial to itself
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="run", storage_path=str(tmp_path), verbose=0),
    )
    results = tuner.fit()
    assert [t.state for t in search.optimizer.trials] == ["failed"] * 2 + ["complete"] * 4
    assert results.num_errors == 1
    values = sorted(r.metrics["loss"] for r in results if r.error is None and math.isfinite(r.metrics["loss"]))
    assert sorted(t.value for t in search.optimizer.trials if t.value is not None) == values
    assert results.get_best_result().metrics["loss"] == values[0]
    assert results[0].config["constant"] == 3

    newcomer = CCGBOSearch(SPACE, metric="loss", mode="min", seed=0)
    newcomer.add_evaluated_trials(tune.ExperimentAnalysis(str(tmp_path / "run")), metric="loss")
    assert sorted(t.value for t in newcomer.optimizer.trials if t.value is not None) == values

    repaired.touch()
    again = tune.Tuner.restore(str(tmp_path / "run"), trainable(), restart_errored=True).fit()
    assert again.num_errors == 0
    restored = CCGBOSearch()
    restored.restore_from_dir(str(tmp_path / "run"))
    states = [t.state for t in restored.optimizer.trials]
    assert states == ["failed"] * 2 + ["complete"] * 5  # the errored point once more, this time with a value
    assert restored.optimizer.trials[6].params["x"] == 1.0


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")
def test_the_example_runs(local_ray: None, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ARG001
    example = runpy.run_path(str(ROOT / "examples/ray_tune.py"), run_name="example")
    search, best = example["main"](num_samples=7)
    assert "most credited" in capsys.readouterr().out
    assert search.optimizer.best_value == best.metrics["loss"]
    assert best.config["epochs"] == 10


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")
def test_a_real_asha_stops_trials_on_their_intermediate_results(
    local_ray: None,  # noqa: ARG001
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: dict[int, tuple[int, float]] = {}  # length and value of each trial as the search is told of it
    learn = CCGBOSearch.on_trial_complete

    def listen(self: CCGBOSearch, trial_id: str, result: Any = None, error: bool = False) -> None:
        ended[self._ids[trial_id]] = result["training_iteration"], result["accuracy"]
        learn(self, trial_id, result, error)

    monkeypatch.setattr(CCGBOSearch, "on_trial_complete", listen)
    example = runpy.run_path(str(ROOT / "examples/ray_asha.py"), run_name="example")
    search, results = example["main"](num_samples=12)
    lengths = [length for length, _ in ended.values()]
    assert len(results) == len(ended) == 12
    assert max(lengths) == 16 and min(lengths) < 16
    assert "were stopped early" in capsys.readouterr().out
    told = {t.id: t.value for t in search.optimizer.trials}
    whole = {trial_id: value for trial_id, (length, value) in ended.items() if length == 16}
    assert all(told[trial_id] == value for trial_id, value in whole.items())
    assert max(told.values()) in whole.values()  # no short run passes for the best


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")
def test_the_page_runs_as_it_is_printed(local_ray: None) -> None:  # noqa: ARG001
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/integrations/ray.md").read_text(), flags=re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "ray.md", "exec"), namespace)
    assert len(namespace["results"]) == 5
    assert len(namespace["search"].credits()) == 5
