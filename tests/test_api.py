"""maximize and minimize."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ccgbo
from ccgbo.running import run

SPACE = {"x": (-5.0, 5.0), "n": (1, 8), "kind": ["a", "b"]}


def f(x: float, n: int, kind: str) -> float:
    return (x - 1.0) ** 2 + abs(n - 3) + (kind == "b")


def test_minimize_finds_what_is_lowest_and_maximize_what_is_highest() -> None:
    low = ccgbo.minimize(f, SPACE, 30, seed=0, progress=False)
    assert low.best_params["kind"] == "a"
    assert low.best_params["n"] == 3
    assert abs(low.best_params["x"] - 1.0) < 0.2
    high = ccgbo.maximize(lambda **params: -f(**params), SPACE, 30, seed=0, progress=False)
    assert [t.params for t in high.trials] == [t.params for t in low.trials]
    assert high.best_value == -low.best_value
    assert low.recommend().params["kind"] == "a"
    assert low.stopped == "all trials done"


def test_the_same_call_made_again_finishes_the_study(tmp_path: Path) -> None:
    calls: list[Any] = []

    def stop_at_five(x: float, n: int, kind: str) -> float:
        calls.append(x)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return f(x, n, kind)

    def call(objective: Any) -> ccgbo.Result:
        return ccgbo.minimize(objective, SPACE, 12, seed=1, study=tmp_path / "s.db", name="mine", progress=False)

    cut = call(stop_at_five)
    assert cut.stopped == "interrupted"
    assert [t.state for t in cut.trials] == ["complete"] * 5 + ["pending"]
    whole = ccgbo.minimize(f, SPACE, 12, seed=1, progress=False)
    assert call(f).trials == whole.trials
    assert len(calls) == 6
    with pytest.raises(ccgbo.SettingError, match="direction must be that of the study 'mine'"):
        ccgbo.maximize(f, SPACE, 12, study=tmp_path / "s.db", name="mine")


def test_options_reach_the_optimizer_and_the_run() -> None:
    seen: list[ccgbo.Optimizer] = []
    result = ccgbo.minimize(
        f,
        SPACE,
        40,
        seed=0,
        preset="paper",
        acquisition="ei",
        n_initial=4,
        constraint=lambda p: p["n"] > 4,
        prior={"x": ccgbo.NormalPrior(1.0, 0.5)},
        target=4.0,
        patience=30,
        n_workers=2,
        callback=lambda optimizer, _: seen.append(optimizer),
        progress=False,
    )
    assert seen[0].settings.acquisition == ccgbo.EI()
    assert seen[0].settings.n_initial == 4
    assert seen[0].settings.design == "random"
    assert all(t.params["n"] > 4 for t in result.trials)
    assert result.stopped == "target reached"


def test_a_name_needs_a_file_and_an_unknown_option_is_refused() -> None:
    with pytest.raises(ccgbo.SettingError, match="name must be given together with study="):
        ccgbo.maximize(f, SPACE, 3, name="mine")
    with pytest.raises(ccgbo.SettingError, match="there is no setting 'colour'"):
        ccgbo.maximize(f, SPACE, 3, colour="red")


def test_a_study_that_is_open_is_used_and_stays_open(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, name="mine", direction="minimize", seed=0) as study:
        trial = study.ask()
        study.tell(trial, f(**trial.params))
        result = ccgbo.minimize(f, SPACE, 4, study=study, progress=False)
        assert result.trials == study.trials
        assert len(study.trials) == 4
        for wrong, message in (
            ({"space": {"z": (0.0, 1.0)}}, "space must be that of the study 'mine'"),
            ({"name": "other"}, "name must be that of the study, 'mine', got 'other'"),
            ({"acquisition": "ei"}, "acquisition"),
        ):
            with pytest.raises(ccgbo.SettingError, match=message):
                ccgbo.minimize(f, **({"space": SPACE, "n_trials": 9, "study": study} | wrong))
        with pytest.raises(ccgbo.SettingError, match="direction must be that of the study 'mine'"):
            ccgbo.maximize(f, SPACE, 9, study=study)
        with pytest.raises(ccgbo.SettingError, match="study must be the path of a file or a Study, got 3"):
            ccgbo.maximize(f, SPACE, 9, study=3)  # type: ignore[arg-type]
        assert study.ask().id == 4


# -- what a result knows


def bowl(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@pytest.mark.parametrize("kept", [False, True])
def test_a_result_keeps_its_optimizer(tmp_path: Path, kept: bool) -> None:
    result = ccgbo.maximize(bowl, BOX, 14, seed=0, progress=False, study=tmp_path / "s.db" if kept else None)
    optimizer = result.optimizer()
    assert optimizer.trials == result.trials
    assert result.credits() == optimizer.credits()
    assert result.explain(13) == optimizer.explain(13) == result.trials[13].explanation
    assert result.recommend() == optimizer.recommend()
    optimizer.tell(optimizer.ask(), 1.0)  # a copy: going on with it leaves the result alone
    assert result.optimizer().trials == result.trials
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again.credits() == result.credits()


def test_figures_and_reports_take_a_result(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from ccgbo import viz

    result = ccgbo.maximize(bowl, BOX, 12, seed=0, progress=False)
    viz.plot_importance(result)
    assert "<html" in viz.write_report(result, tmp_path / "r.html").read_text(encoding="utf-8")[:500].lower()


def test_a_result_with_a_function_that_cannot_be_pickled_keeps_its_values() -> None:
    result = ccgbo.maximize(bowl, BOX, 6, seed=0, progress=False, constraint=lambda p: p["x"] < 0.9)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    with pytest.raises(ccgbo.UnsupportedError, match="came without its optimizer"):
        again.credits()
    with pytest.raises(ccgbo.NoObservationsError):
        ccgbo.Result(trials=(), direction="maximize").recommend()


def test_a_result_prints_the_params_of_the_best_and_of_the_recommended() -> None:
    trials = tuple(
        ccgbo.Trial(id=i, params={"x": 0.25 * i, "kind": "a"}, state="complete", value=float(i)) for i in range(3)
    )
    same = ccgbo.Recommendation(trial_id=2, params=trials[2].params, mean=1.9, std=0.1)
    other = ccgbo.Recommendation(trial_id=1, params=trials[1].params, mean=1.5, std=0.1)
    assert repr(ccgbo.Result(trials=trials, direction="maximize", recommended=same)).count("x    = ") == 1
    text = repr(ccgbo.Result(trials=trials, direction="maximize", recommended=other))
    assert text.endswith("recommended  trial 1: 1.5 ± 0.1 by the model\n    x    = 0.25\n    kind = 'a'")
    failed = ccgbo.Trial(id=3, params={"x": 1.0}, state="failed", error='Traceback\n  File "f"\nValueError: no\x1b[1m')
    text = repr(ccgbo.Result(trials=(*trials, failed), direction="maximize"))
    assert text.endswith("last error   trial 3: ValueError: no\\x1b[1m")


@pytest.mark.parametrize("value", [pd.Series([0.5]), [0.5], (0.5,), np.array([[0.5]]), np.float32(0.5)])
def test_one_number_is_a_value_in_whatever_it_is_wrapped(value: Any) -> None:
    result = ccgbo.maximize(lambda x: value, {"x": (0.0, 1.0)}, 2, seed=0, progress=False)  # noqa: ARG005
    assert result.best_value == 0.5


def test_metrics_that_nobody_named_are_refused_and_optimize_is_where_they_have_names() -> None:
    with pytest.raises(ccgbo.UnsupportedError, match="several are told by the names of objectives="):
        ccgbo.maximize(lambda x: {"a": x, "b": x}, {"x": (0.0, 1.0)}, 2, seed=0, progress=False)
    with pytest.raises(ccgbo.SettingError, match="objectives must be given"):
        ccgbo.optimize(lambda x: {"a": x, "b": x}, {"x": (0.0, 1.0)}, 2)
    goals: Any = {"a": "maximize", "b": "minimize"}
    found = ccgbo.optimize(lambda x: {"a": x, "b": x}, {"x": (0.0, 1.0)}, 3, objectives=goals, seed=0, progress=False)
    assert len(found.pareto_front()) == 3
    with pytest.raises(ccgbo.UnsupportedError, match="several objectives have no best trial"):
        found.best_value  # noqa: B018


def test_an_objective_may_return_readings_or_a_standard_error() -> None:
    result = ccgbo.maximize(lambda x: [x, x + 1.0], {"x": (0.0, 1.0)}, 3, seed=0, progress=False)
    assert [t.readings for t in result.trials] == [(t.params["x"], t.params["x"] + 1.0) for t in result.trials]
    result = ccgbo.minimize(lambda x: (x, 0.5), {"x": (0.0, 1.0)}, 3, seed=0, progress=False)
    assert [(t.value, t.noise_variance) for t in result.trials] == [(t.params["x"], 0.25) for t in result.trials]


def test_points_to_begin_with_are_evaluated_first_and_count() -> None:
    points = [{"x": 0.25}, {"x": 0.75}]
    result = ccgbo.maximize(lambda x: x, {"x": (0.0, 1.0)}, 4, x0=points, seed=0, progress=False)
    assert [dict(t.params) for t in result.trials[:2]] == points
    assert [t.origin for t in result.trials] == ["enqueued", "enqueued", "design", "design"]
    one = ccgbo.minimize(lambda x: x, {"x": (0.0, 1.0)}, 1, x0={"x": 0.5}, seed=0, progress=False)
    assert one.best_params == {"x": 0.5}


@pytest.mark.parametrize(
    ("x0", "error", "message"),
    [
        ([0.5], ccgbo.SettingError, r"x0 must be None or a list of points, .* got \[0.5\]"),
        ("x", ccgbo.SettingError, "x0 must be None or a list of points, .* got 'x'"),
        ([{"x": 2.0}], ccgbo.ParamsError, r"params must be a point of the space, got {'x': 2.0}: x must be"),
        ([{}], ccgbo.ParamsError, "must have a value for 'x'"),
    ],
)
def test_points_to_begin_with_are_refused_by_name(x0: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ccgbo.maximize(lambda x: x, {"x": (0.0, 1.0)}, 3, x0=x0, progress=False)


def test_a_prior_that_raises_is_named() -> None:
    def broken(params: Any) -> float:
        return params["z"]

    class Odd:
        def pdf(self, _values: Any) -> Any:
            raise RuntimeError("no density here")

    for prior, message in ((broken, "prior raised KeyError: 'z' at"), ({"x": Odd()}, "no density here")):
        with pytest.raises(ccgbo.SettingError, match=message):
            ccgbo.maximize(bowl, BOX, 8, n_initial=3, seed=0, progress=False, prior=prior)


def test_the_best_is_spelled_alike_on_an_optimizer_a_study_and_a_result(tmp_path: Path) -> None:
    box = {"x": (0.0, 1.0)}
    opt = ccgbo.Optimizer(box, direction="minimize", seed=0)
    with ccgbo.Study(tmp_path / "s.db", box, direction="minimize", seed=0) as study:
        for source in (opt, study, opt.result(), study.result()):
            for look in ("best_trial", "best_params", "best_value", "recommend"):
                with pytest.raises(ccgbo.NoObservationsError, match="no observation yet: no trial has a value"):
                    getattr(source, look)()
        for x in (0.1, 0.5, 0.9):
            opt.tell({"x": x}, (x - 0.4) ** 2)
            study.tell({"x": x}, (x - 0.4) ** 2)
        for source in (opt, study, opt.result(), study.result()):
            assert (source.best_trial.id, source.best_params) == (1, {"x": 0.5})
            assert source.best_value == pytest.approx(0.01)
            assert source.recommend() == opt.recommend()


@pytest.mark.parametrize("entry", [ccgbo.maximize, ccgbo.minimize, ccgbo.Study.run])
def test_every_way_to_run_has_the_options_of_the_loop(entry: Any) -> None:
    own = inspect.signature(entry).parameters
    for name, option in inspect.signature(run).parameters.items():
        if option.kind is option.KEYWORD_ONLY:
            assert (own[name].annotation, own[name].default) == (option.annotation, option.default), name
