"""Figures: what they show, on whose axes they draw it, and that looking changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ccgbo import (
    UCB,
    Categorical,
    Float,
    LinearConstraint,
    LogEI,
    MissingExtraError,
    Mixture,
    NoObservationsError,
    Optimizer,
    SettingError,
    Space,
    maximize,
    viz,
)
from ccgbo.acquisition import Alternate
from ccgbo.plotting import CYCLE
from ccgbo.viz.axes import axis_of, place
from ccgbo.viz.illustration import START, toy, toy_optimizer
from ccgbo.viz.report import report_html

from .conftest import MIXED, run, score

ONE = {
    "progress": viz.plot_progress,
    "parallel": viz.plot_parallel,
    "importance": viz.plot_importance,
    "credit over time": viz.plot_credit_over_time,
    "map": viz.plot_map,
    "regret": lambda source, ax=None: viz.plot_regret(source, 1.1, ax=ax),
}
MANY = {
    "maps": (viz.plot_maps, (2, 2)),
    "slices": (viz.plot_slices, (2, 4)),
    "illustration": (lambda _, axes=None: viz.plot_illustration(axes=axes), (3, 1)),
    "six steps": (lambda _, axes=None: viz.plot_six_steps(m=101, axes=axes), (6, 2)),
}


@pytest.mark.parametrize("name", ONE)
def test_a_figure_draws_on_the_axes_it_is_given_and_returns_them(name: str, finished: Optimizer) -> None:
    _, ax = plt.subplots()
    assert ONE[name](finished, ax=ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("name", ONE)
def test_a_figure_makes_its_own_axes_where_none_are_given(name: str, finished: Optimizer) -> None:
    ax = ONE[name](finished)
    assert ax.has_data()
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", MANY)
def test_a_figure_of_many_axes_draws_on_those_it_is_given(name: str, finished: Optimizer) -> None:
    draw, shape = MANY[name]
    _, axes = plt.subplots(*shape, squeeze=False)
    returned = draw(finished, axes=axes)
    assert list(np.ravel(returned)) == list(axes.ravel())
    assert all(ax.has_data() for ax in axes.ravel())


@pytest.mark.parametrize("name", MANY)
def test_a_figure_of_many_axes_refuses_a_wrong_number_of_them(name: str, finished: Optimizer) -> None:
    _, axes = plt.subplots(1, 5)
    with pytest.raises(SettingError, match=r"axes must be \d+ axes .* got 5"):
        MANY[name][0](finished, axes=axes)


def test_looking_changes_no_suggestion() -> None:
    looked_at, twin = run(Optimizer(MIXED, seed=3), 14), run(Optimizer(MIXED, seed=3), 14)
    viz.plot_maps(looked_at)
    viz.plot_slices(looked_at)
    viz.plot_credit_over_time(looked_at)
    viz.plot_importance(looked_at)
    assert looked_at.ask().params == twin.ask().params


# -- the view


def test_the_model_view_shows_what_the_next_suggestion_is_explained_by() -> None:
    opt = run(Optimizer(MIXED, acquisition="ucb", seed=1), 16)
    opt.ask()  # pending: a fantasy in the acquisition
    view = viz.ModelView(opt)
    trial = opt.ask()
    seen, why = view.at([trial.params]), trial.explanation
    assert why is not None
    assert seen.mean[0] == pytest.approx(why.mean)
    assert seen.std[0] == pytest.approx(why.std)
    assert seen.base[0] == pytest.approx(why.base)
    assert seen.weight[0] == pytest.approx(why.weight)
    assert view.proxy == pytest.approx(why.proxy)


def test_where_acquisitions_take_turns_the_model_view_shows_the_one_that_credit_weighs() -> None:
    opt = Optimizer(MIXED, acquisition=Alternate(exploit=LogEI(), explore=UCB(), period=3), seed=1)
    run(opt, 14)
    while opt.trials[-1].explanation.acquisition != "UCB":  # type: ignore[union-attr]
        trial = opt.ask()
        opt.tell(trial, score(trial.params))
    view = viz.ModelView(opt)  # the next two suggestions are LogEI's
    seen = view.at([trial.params for trial in opt.trials])
    assert np.ptp(seen.weight) > 0.0
    assert not np.allclose(seen.weighted, seen.base - seen.base.min())


def test_no_point_of_a_slice_beats_the_suggestion() -> None:
    opt = toy_optimizer()
    view = viz.ModelView(opt)
    trial = opt.ask()
    found = view.slice("x", m=401).layers.weighted.max()
    assert view.at([trial.params]).weighted[0] > 0.98 * found


def test_the_model_view_has_the_credits_of_the_optimizer(finished: Optimizer) -> None:
    view = viz.ModelView(finished)
    rows = {row.trial_id: row.credit for row in finished.credits()}
    assert {t.id: c for t, c in zip(view.trials, view.credits)} == rows


def test_the_model_view_speaks_in_the_users_units_when_minimising() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0)}, direction="minimize", seed=0)
    points = np.linspace(0.0, 1.0, 8)
    opt.tell_many([{"x": float(x)} for x in points], [100.0 + 50.0 * (x - 0.3) ** 2 for x in points])
    view = viz.ModelView(opt)
    assert view.observed[0] == pytest.approx(view.values, abs=1.0)
    assert view.proxy < 101.0  # near the minimum, not the maximum of 124
    assert view.credits[int(np.argmin(view.values))] > 0.8


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_band_lies_around_the_mean_and_holds_the_observations(direction: Any) -> None:
    values = [0.0, 0.9, 1.0, 1.1, 1.0, 0.95, -40.0]  # an outlier, so that the robust outcome bends
    view = viz.ModelView(told(values, direction))
    layers = view.at([{"x": i / 10} for i in range(11)])
    assert np.all(layers.low <= layers.mean)
    assert np.all(layers.mean <= layers.high)
    assert np.mean((layers.low[:7] <= values) & (values <= layers.high[:7])) >= 5 / 7
    assert view.window[0] < -40.0 < 1.1 < view.window[1]


def test_a_map_hides_what_the_constraints_forbid() -> None:
    space = {"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)}
    opt = Optimizer(space, constraint=LinearConstraint({"a": 1.0, "b": 1.0}, upper=1.05), seed=0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, trial.params["a"])
    grid = viz.ModelView(opt).map("a", "b", m=11).layers.mean
    forbidden = np.add.outer(np.linspace(0, 1, 11), np.linspace(0, 1, 11)) > 1.05
    assert np.array_equal(np.isnan(grid), forbidden)


def test_a_slice_along_a_conditional_parameter_goes_through_a_point_that_has_it() -> None:
    space = {"kind": Categorical(["a", "b"]), "depth": Float(0.0, 1.0, active_if={"kind": "b"})}
    opt = Optimizer(space, seed=0)
    opt.tell_many(
        [{"kind": "a"}, {"kind": "b", "depth": 0.2}, {"kind": "b", "depth": 0.7}, {"kind": "b", "depth": 0.9}],
        [5.0, 1.0, 2.0, 0.0],
    )
    cut = viz.ModelView(opt).slice("depth", m=21)
    assert cut.through["kind"] == "b"  # although "a" is the best
    assert np.ptp(cut.layers.mean) > 0.5


def test_a_slice_through_a_given_point_passes_its_prediction(finished: Optimizer) -> None:
    view = viz.ModelView(finished)
    through = {"rate": 0.01, "layers": 6, "kind": "gelu", "dropout": 0.5}
    cut = view.slice("layers", through=through)
    assert cut.layers.mean[5] == pytest.approx(view.at([through]).mean[0])


def test_a_figure_before_any_value_says_so() -> None:
    opt = Optimizer(MIXED, seed=0)
    opt.ask()
    for draw in (viz.plot_progress, viz.plot_map, viz.plot_credit_over_time, viz.plot_importance, viz.plot_parallel):
        with pytest.raises(NoObservationsError):
            draw(opt)


# -- what the figures show


def told(values: list[float], direction: Any = "maximize") -> Optimizer:
    opt = Optimizer({"x": Float(0.0, 1.0)}, direction=direction, seed=0)
    for i, v in enumerate(values):
        opt.tell({"x": i / 10}, v)
    return opt


def test_the_best_so_far_rises_when_maximising_and_falls_when_minimising() -> None:
    values = [3.0, 1.0, 5.0, 2.0]
    up, down = viz.plot_progress(told(values)), viz.plot_progress(told(values, "minimize"))
    assert list(up.get_lines()[1].get_ydata()) == [3.0, 3.0, 5.0, 5.0]
    assert list(down.get_lines()[1].get_ydata()) == [3.0, 1.0, 1.0, 1.0]


def test_regret_is_the_distance_to_the_optimum() -> None:
    simple = viz.plot_regret(told([3.0, 1.0, 5.0]), 6.0)
    total = viz.plot_regret(told([3.0, 1.0, 5.0]), 6.0, cumulative=True)
    assert list(simple.get_lines()[0].get_ydata()) == [3.0, 3.0, 1.0]
    assert list(total.get_lines()[0].get_ydata()) == [3.0, 8.0, 9.0]
    assert simple.get_yscale() == "log"


def test_repeats_become_their_mean_and_methods_different_colours() -> None:
    ax = viz.plot_regret({"a": [told([1.0, 2.0]), told([3.0, 3.0])], "b": told([0.0, 0.0])}, 4.0)
    first, second = ax.get_lines()
    assert list(first.get_ydata()) == [2.0, 1.5]
    assert [first.get_color(), second.get_color()] == list(CYCLE[:2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_importance_is_the_share_of_the_variance() -> None:
    """f = 3 a + b over the unit cube: Var = (9 + 1) / 12, so the total indices are 0.9 and 0.1, and c has none."""
    rng = np.random.default_rng(0)
    opt = Optimizer({name: Float(0.0, 1.0) for name in "abc"}, seed=0)
    U = rng.random((40, 3))
    opt.tell_many([dict(zip("abc", map(float, u))) for u in U], 3.0 * U[:, 0] + U[:, 1])
    shares = viz.importance(opt, m=4096)
    assert list(shares)[:2] == ["a", "b"]
    assert shares == pytest.approx({"a": 0.9, "b": 0.1, "c": 0.0}, abs=0.03)


def test_importance_of_a_flat_model_is_zero() -> None:
    assert viz.importance(told([2.0, 2.0, 2.0])) == {"x": 0.0}


def test_credit_over_time_has_a_column_per_moment_and_blanks_before_an_observation(finished: Optimizer) -> None:
    history = viz.replay_credits(finished)
    n = len(history.trial_ids)
    assert n == sum(t.state == "complete" for t in finished.trials)
    for column, k in enumerate(history.after):
        known, unknown = history.credits[:k, column], history.credits[k:, column]
        assert np.isnan(unknown).all()
        assert np.sort(known) == pytest.approx(0.1 + 0.9 * np.arange(k) / (k - 1))  # ranks, none of them tied


def test_the_last_column_of_credit_over_time_agrees_with_the_credits_now(finished: Optimizer) -> None:
    now = {row.trial_id: row.credit for row in finished.credits()}
    history = viz.replay_credits(finished)
    pairs = np.array([[now[i], c] for i, c in zip(history.trial_ids, history.credits[:, -1])])
    assert np.corrcoef(pairs.T)[0, 1] > 0.9  # other paths, another fit: the order is nearly the same


def test_two_hundred_trials_of_credit_over_time_take_seconds() -> None:
    opt = Optimizer(MIXED, seed=0)
    points = [opt.space.decode(u) for u in opt.space.sample(200, np.random.default_rng(0))]
    opt.tell_many(points, [score(p) for p in points])
    began = time.perf_counter()
    assert viz.replay_credits(opt).credits.shape == (200, 80)
    assert time.perf_counter() - began < 20.0  # about 2 s on an idle core


def test_dots_grow_with_credit(finished: Optimizer) -> None:
    ax = viz.plot_map(finished, "rate", "dropout")
    sizes = ax.collections[1].get_sizes()
    order = np.argsort(viz.ModelView(finished).credits, kind="stable")
    assert np.all(np.diff(sizes[order]) >= 0)
    assert sizes.max() > 5 * sizes.min()


def test_axes_show_log_scales_and_the_names_of_choices(finished: Optimizer) -> None:
    ax = viz.plot_map(finished, "rate", "kind", layer="credit")
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["relu", "tanh", "gelu"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rate", "kind")


def test_every_value_of_a_small_range_is_a_point_of_its_axis() -> None:
    axis = axis_of(Optimizer(MIXED).space, "layers", 100)
    assert list(axis.at) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert place(Categorical(["a", "b"]), "b") == 1.0
    assert np.isnan(place(Float(0.0, 1.0), None))


def test_unknown_names_are_named_in_the_error(finished: Optimizer) -> None:
    with pytest.raises(SettingError, match="got 'speed'"):
        viz.plot_map(finished, "rate", "speed")
    with pytest.raises(SettingError, match="got 'colour'"):
        viz.plot_map(finished, layer="colour")
    with pytest.raises(SettingError, match="got 'rate' twice"):
        viz.plot_map(finished, "rate", "rate")
    with pytest.raises(SettingError, match="got 'speed'"):
        viz.plot_parallel(finished, parameters=["speed"])


def test_names_with_dollar_signs_are_text_not_mathematics() -> None:
    opt = Optimizer({r"cost $\frac{$": Float(0.0, 1.0), "$$": [r"$\x$", "b"]}, seed=0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, trial.params[r"cost $\frac{$"])
    for axes in (viz.plot_maps(opt), viz.plot_slices(opt), viz.plot_parallel(opt), viz.plot_importance(opt)):
        np.ravel(axes)[0].figure.canvas.draw()


def test_a_slide_has_larger_letters_than_a_column(finished: Optimizer) -> None:
    found = {}
    for size in ("column", "slide"):
        with viz.style(size):
            ax = viz.plot_progress(finished)
            found[size] = ax.figure.get_size_inches()[0], ax.xaxis.label.get_fontsize()
    assert found["slide"] > found["column"]
    assert found["column"][0] < 3.5  # inches: one column of a journal
    with pytest.raises(SettingError, match="got 'poster'"), viz.style("poster"):
        pass


# -- the pictures of the paper


def test_the_illustration_shows_credit_moving_the_next_query_to_the_optimum() -> None:
    layers = viz.ModelView(toy_optimizer()).slice("x", m=401)
    x = layers.x.at
    best = x[np.argmax([toy(v) for v in x])]
    plain, guided = x[layers.layers.base.argmax()], x[layers.layers.weighted.argmax()]
    assert abs(guided - best) < 0.02 < abs(plain - best)


def test_the_toy_has_the_maximum_its_docstring_states() -> None:
    x = np.linspace(0.0, 1.0, 100_001)
    values = np.array([toy(v) for v in x])
    assert (x[values.argmax()], values.max()) == pytest.approx((0.7572, 0.7526), abs=1e-4)


def test_the_six_steps_start_alike_and_report_falling_regret() -> None:
    grid = viz.plot_six_steps(m=101)
    assert grid.shape == (6, 2)
    for column in grid.T:
        regrets = [float(ax.get_title().split()[-1]) for ax in column]
        assert regrets == sorted(regrets, reverse=True)
    assert list(grid[0, 0].get_lines()[2].get_xdata()) == list(START) == list(grid[0, 1].get_lines()[2].get_xdata())


def test_the_illustration_refuses_more_than_one_parameter(finished: Optimizer) -> None:
    with pytest.raises(SettingError, match="one parameter"):
        viz.plot_illustration(finished)


# -- the example


def test_the_example_saves_every_figure(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "figures.py"
    done = [sys.executable, str(example), str(tmp_path / "figures")]
    subprocess.run(done, check=True, env=os.environ | {"MPLBACKEND": "Agg"})
    assert len(list((tmp_path / "figures").glob("*.png"))) == 15


# -- what is loaded when


def test_importing_viz_loads_no_plotting_library() -> None:
    code = (
        "import sys, ccgbo.viz, ccgbo.viz.report; print([m for m in ('matplotlib', 'starlette') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_matplotlib_a_figure_says_what_to_install(finished: Optimizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"ccgbo\[plot\]"):
        viz.plot_progress(finished)


def test_slices_show_the_acquisition_with_credit_only_where_credit_acts(finished: Optimizer) -> None:
    def labels(opt: Optimizer) -> list[str]:
        legend = viz.plot_slices(opt)[1, 0].get_legend()
        return [text.get_text() for text in legend.get_texts()]

    acting = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0)
    for i in range(8):
        acting.tell({"x": i / 8, "y": 1.0 - i / 8}, -abs(i / 8 - 0.5))
    assert labels(acting) == ["credit field", "acquisition", "with credit"]
    assert labels(finished) == ["credit field", "acquisition"]  # it has a categorical


def test_every_figure_takes_a_result() -> None:
    result = maximize(
        lambda x, y: -((x - 0.3) ** 2) - y, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 12, seed=0, progress=False
    )
    for draw in (
        viz.plot_progress,
        viz.plot_parallel,
        viz.plot_importance,
        viz.plot_map,
        viz.plot_maps,
        viz.plot_slices,
        viz.plot_credit_over_time,
    ):
        assert draw(result) is not None


def test_a_slice_over_a_mixture_moves_along_the_simplex() -> None:
    """As one part grows the others make up for it in proportion; a map shows the triangle that two parts leave."""
    space = Space(dict.fromkeys("abc", (0.0, 1.0)), constraints=Mixture(["a", "b", "c"]))
    opt = Optimizer(space, seed=0, n_initial=5)
    for _ in range(9):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["a"] - 0.3) ** 2))
    view = viz.ModelView(opt)
    through = {"a": 0.2, "b": 0.6, "c": 0.2}
    along = view.slice("a", m=11, through=through)
    expected = view.at([{"a": a, "b": 0.75 * (1 - a), "c": 0.25 * (1 - a)} for a in along.x.at])
    assert along.layers.mean == pytest.approx(expected.mean, abs=1e-6)
    assert np.isfinite(along.layers.mean).all()
    shown = np.isfinite(view.map("a", "b", m=11).layers.mean)
    assert np.array_equal(shown, np.tri(11)[::-1].astype(bool))
    shares = viz.importance(view)
    assert max(shares, key=shares.__getitem__) == "a"


def test_a_mixture_of_two_is_drawn_although_a_map_of_both_is_a_line() -> None:
    space = Space({"a": (0.0, 0.7713), "b": (0.1147, 1.0)}, constraints=Mixture(["a", "b"]))
    opt = Optimizer(space, seed=0, n_initial=4)
    for _ in range(6):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["a"] - 0.3) ** 2))
    assert viz.plot_slices(opt).shape == (2, 2)
    assert viz.plot_maps(opt).shape == (2, 2)


def test_figures_and_report_leave_out_what_is_dropped_and_draw_what_lies_outside() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "kind": ["a", "b"]}, seed=0, n_initial=4)
    for i in range(8):
        trial = opt.ask()
        opt.tell(trial, 100.0 if i == 3 else trial.params["x"])
    opt.drop(3)
    axes = viz.plot_progress(opt)
    assert max(np.max(line.get_ydata()) for line in axes.lines) < 1.5  # type: ignore[arg-type]
    opt.change_space({"x": (0.0, 0.5), "kind": ["a"]})  # trials at b have no position any more
    assert opt.outside
    for draw in (viz.plot_progress, viz.plot_parallel, viz.plot_importance, viz.plot_slices):
        draw(opt)
    assert "<html" in report_html(opt)
