"""maximize and minimize."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ccgbo

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
    assert low.recommendation is not None
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
        prior={"x": ccgbo.Gaussian(1.0, 0.5)},
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
