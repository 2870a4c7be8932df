"""Figures of several objectives and of outcome constraints: what stands in them, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ccgbo import AtMost, NoObservationsError, Optimizer, SettingError, UnsupportedError, viz
from ccgbo.metrics import feasible
from ccgbo.records import hypervolume_of
from ccgbo.viz.cuts import share
from ccgbo.viz.front_view import front_view, volumes
from ccgbo.viz.parallel import ranks

from .metric_runs import BENCH, CHEMISTRY, chemistry, constrained, run_chemistry, three_objectives, two_objectives


def offsets(ax: Any, label: str) -> np.ndarray:
    """The points of the scatter that the legend calls so."""
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return np.asarray(found.get_offsets())


def points(*trials: Any, names: tuple[str, str] = ("yield", "cost")) -> set[tuple[float, float]]:
    return {(round(t.values[names[0]], 6), round(t.values[names[1]], 6)) for t in trials}


def rounded(array: np.ndarray) -> set[tuple[float, float]]:
    return {(round(float(x), 6), round(float(y), 6)) for x, y in array}


# -- the front


def test_the_front_dominated_and_infeasible_trials_stand_where_they_were_measured() -> None:
    opt = two_objectives()
    ax = viz.plot_front(opt)
    front = opt.pareto_front()
    broke = [t for t in opt.observations if feasible(t.values, opt.metrics) is False]
    rest = [t for t in opt.observations if t not in front and t not in broke]
    assert len(front) > 2
    assert broke
    assert rest
    found = {label: rounded(offsets(ax, label)) for label in ("front", "dominated", "infeasible")}
    # what is not measured is believed: the fifth has no impurity, and is taken for feasible by the model
    assert found == {"front": points(*front), "dominated": points(*rest), "infeasible": points(*broke)}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("yield", "cost")


def test_dominated_trials_are_coloured_by_their_credit() -> None:
    opt = two_objectives()
    credit = {row.trial_id: row.credit for row in opt.credits()}
    by_place = {next(iter(points(t))): credit[t.id] for t in opt.observations}
    ax = viz.plot_front(opt)
    (dots,) = [c for c in ax.collections if c.get_label() == "dominated"]
    wanted = [by_place[place] for x, y in dots.get_offsets() for place in rounded(np.array([[x, y]]))]
    assert dots.get_array().tolist() == pytest.approx(wanted)
    assert dots.get_clim() == (0.0, 1.0)


def test_the_bars_of_a_noisy_front_span_what_the_model_believes() -> None:
    opt = three_objectives()
    found, view = front_view(opt), viz.ModelView(opt)
    mean, std = view.of("b").believed
    row = int(np.flatnonzero(found.on_front)[0])
    assert found.low[row, 1] < mean[row] < found.high[row, 1]
    assert found.high[row, 1] - found.low[row, 1] == pytest.approx(2 * 1.96 * std[row], rel=0.3)  # robust: not quite
    ax = viz.plot_front(opt, "a", "b")
    segments = [s for c in ax.collections if hasattr(c, "get_segments") for s in c.get_segments()]
    upright = {round(float(s[0][0]), 6): sorted(float(p[1]) for p in s) for s in segments if s[0][0] == s[1][0]}
    drawn = upright[round(float(found.at[row, 0]), 6)]
    assert drawn == pytest.approx([found.low[row, 1], found.high[row, 1]])


def test_three_objectives_have_a_panel_for_each_pair() -> None:
    axes = viz.plot_fronts(three_objectives())
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in axes.flat] == [("a", "b"), ("a", "c"), ("b", "c")]
    found = front_view(three_objectives())
    assert rounded(offsets(axes[0, 2], "front")) == rounded(found.at[found.on_front][:, 1:])


def test_a_front_needs_several_objectives_and_two_that_differ() -> None:
    with pytest.raises(UnsupportedError, match="plot_front needs several objectives, got f: minimize"):
        viz.plot_front(constrained())
    with pytest.raises(SettingError, match=r"x and y must be among the objectives .*, got 'impurity'"):
        viz.plot_front(two_objectives(), "impurity")
    with pytest.raises(SettingError, match="different objectives, got 'cost' twice"):
        viz.plot_front(two_objectives(), "cost", "cost")


# -- the hypervolume


def test_the_hypervolume_over_trials_is_that_of_each_prefix_above_one_point() -> None:
    opt = two_objectives()
    grown, reference = volumes(opt.trials, opt.metrics)
    assert reference == opt.hypervolume().reference
    done = [t for t in opt.trials if t.in_model]
    by_hand = [float(hypervolume_of(done[: k + 1], opt.metrics, reference)) for k in range(len(done))]
    assert grown.tolist() == pytest.approx(by_hand)
    ax = viz.plot_hypervolume(opt)
    line = ax.get_lines()[0]
    assert line.get_ydata().tolist() == pytest.approx(by_hand)
    assert line.get_xdata().tolist() == list(range(1, len(done) + 1))
    assert "yield" in ax.get_ylabel()


def test_infeasible_evaluations_are_marked_at_the_foot_of_the_hypervolume() -> None:
    opt = two_objectives()
    ax = viz.plot_hypervolume(opt)
    (marks,) = [line for line in ax.get_lines() if line.get_label() == "infeasible"]
    done = [t for t in opt.trials if t.in_model]
    assert marks.get_xdata().tolist() == [i for i, t in enumerate(done, 1) if feasible(t.values, opt.metrics) is False]


def test_runs_by_name_share_the_reference_point_of_all_of_them() -> None:
    opt, other = two_objectives(), run_chemistry(Optimizer(BENCH, **CHEMISTRY, seed=1, credit=False), 12)
    ax = viz.plot_hypervolume({"with credit": [opt, other], "without": other})
    point = hypervolume_of([*opt.trials, *other.trials], opt.metrics).reference
    alone = volumes(other.trials, opt.metrics, point)[0]
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["without"].get_ydata().tolist() == pytest.approx(alone.tolist())
    both = (volumes(opt.trials, opt.metrics, point)[0][: len(alone)] + alone) / 2
    assert lines["with credit"].get_ydata().tolist() == pytest.approx(both.tolist())


def test_a_reference_point_that_is_given_is_used() -> None:
    opt, point = two_objectives(), {"yield": 50.0, "cost": 10.0}
    ax = viz.plot_hypervolume(opt, point)
    assert ax.get_lines()[0].get_ydata()[-1] == pytest.approx(float(opt.hypervolume(point)))
    assert "yield 50, cost 10" in ax.get_ylabel()


# -- one objective with bounds


def test_progress_is_of_the_best_feasible_value_and_marks_the_others() -> None:
    opt = constrained()
    ax = viz.plot_progress(opt)
    lines = {line.get_label(): line for line in ax.get_lines()}
    kept = [feasible(t.values, opt.metrics) for t in opt.trials]
    for label, wanted in (("evaluations", True), ("infeasible", False), ("not known whether feasible", None)):
        steps = [i for i, k in enumerate(kept, 1) if k is wanted]
        assert steps
        assert lines[label].get_xdata().tolist() == steps
        assert lines[label].get_ydata().tolist() == [opt.trials[i - 1].value for i in steps]
    best, so_far = math.nan, []
    for trial, k in zip(opt.trials, kept):
        best = trial.value if k and not trial.value > best else best
        so_far.append(best)
    assert lines["best so far"].get_ydata().tolist() == pytest.approx(so_far, nan_ok=True)
    assert so_far[-1] == opt.best_value
    assert ax.get_ylabel() == "f"


def test_the_regret_of_a_constrained_run_is_that_of_the_best_feasible_value() -> None:
    opt = constrained()
    drawn = viz.plot_regret(opt, 0.59).get_lines()[0].get_ydata()
    assert drawn[-1] == pytest.approx(abs(0.59 - opt.best_value))
    with pytest.raises(UnsupportedError, match=r"cumulative=True is for evaluations that are all feasible, got f"):
        viz.plot_regret(opt, 0.59, cumulative=True)


@pytest.mark.parametrize("draw", [viz.plot_progress, lambda source: viz.plot_regret(source, 1.0)])
def test_what_is_of_one_value_refuses_several_objectives_by_name(draw: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"yield: maximize; cost: minimize.*plot_hypervolume is of several"):
        draw(two_objectives())


def test_the_pictures_of_the_paper_refuse_outcome_constraints() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, outcome_constraints={"c": AtMost(1.0)}, seed=0)
    opt.tell_many([{"x": 0.1}, {"x": 0.7}], [1.0, 2.0])
    with pytest.raises(UnsupportedError, match="plot_illustration is for one objective without outcome constraints"):
        viz.plot_illustration(opt)


# -- the model of any metric


def test_the_probability_of_being_feasible_is_one_and_zero_where_the_truth_is_clear() -> None:
    view = viz.ModelView(two_objectives())
    rng = np.random.default_rng(0)
    U = [{"x": float(x), "y": float(y), "solvent": "a"} for x, y in rng.random((200, 2))]
    impurity = np.array([chemistry(**u)["impurity"] for u in U])
    chance = view.at(U).feasibility
    assert ((chance >= 0.0) & (chance <= 1.0)).all()
    assert chance[impurity < 0.4].min() > 0.9
    assert chance[impurity > 0.85].max() < 0.1


def test_the_feasibility_of_a_trial_is_that_which_credits_report() -> None:
    opt = two_objectives()
    rows = opt.credits()
    told = [row for row in rows if "impurity" in row.values]
    looked = viz.ModelView(opt).at([row.params for row in told]).feasibility
    assert looked.tolist() == pytest.approx([row.feasibility for row in told], abs=0.02)


def test_a_map_of_feasibility_shows_the_probability_between_zero_and_one() -> None:
    opt = two_objectives()
    ax = viz.plot_map(opt, "x", "y", layer="feasibility")
    mesh = ax.collections[0]
    assert mesh.get_clim() == (0.0, 1.0)
    wanted = viz.ModelView(opt).map("x", "y").layers.feasibility
    assert np.asarray(mesh.get_array()).ravel().tolist() == pytest.approx(wanted.ravel().tolist())
    with pytest.raises(SettingError, match="layer='feasibility' needs outcome_constraints"):
        viz.plot_map(three_objectives(), "x", "y", layer="feasibility")


def test_a_metric_that_is_named_is_the_one_whose_model_is_drawn() -> None:
    opt = two_objectives()
    ax = viz.plot_map(opt, "x", "y", metric="cost", m=9, through={"x": 0.5, "y": 0.5, "solvent": "a"})
    assert ax.get_title(loc="left") + ax.get_title() == "predicted value: cost"
    grid = np.asarray(ax.collections[0].get_array()).reshape(9, 9)
    at = np.linspace(0.0, 1.0, 9)
    truth = np.array([[chemistry(x, y, "a")["cost"] for x in at] for y in at])
    assert np.abs(grid - truth).max() < 0.3  # of a range of three
    with pytest.raises(SettingError, match="there is no metric 'costs': did you mean 'cost'"):
        viz.plot_map(opt, "x", "y", metric="costs")


def test_slices_of_a_bounded_metric_have_its_bounds_its_values_and_the_probability() -> None:
    opt = two_objectives()
    top, bottom = viz.plot_slices(opt, ["x"], metric="impurity")[:, 0]
    assert top.get_ylabel() == "impurity"
    assert [0.6, 0.6] in [list(line.get_ydata()) for line in top.get_lines()]
    told = sorted(t.values["impurity"] for t in opt.observations if "impurity" in t.values)
    drawn = [y for c in top.collections if len(c.get_offsets()) and c.get_zorder() == 4 for _, y in c.get_offsets()]
    assert sorted(float(y) for y in drawn) == pytest.approx(told)
    lines = {line.get_label(): line for line in bottom.get_lines()}
    cut = viz.ModelView(opt).slice("x")
    wanted = cut.layers.feasibility.tolist()
    assert lines["probability of being feasible"].get_ydata().tolist() == pytest.approx(wanted)
    weighted = lines["weighted"].get_ydata()
    assert weighted.tolist() == pytest.approx(share(cut.layers.weighted).tolist())  # what the search maximises
    low, high = top.get_ylim()
    assert low < 0.6 < high


def test_slices_without_bounds_have_no_such_line() -> None:
    bottom = viz.plot_slices(three_objectives(), ["x"])[1, 0]
    assert "probability of being feasible" not in [line.get_label() for line in bottom.get_lines()]


def test_importance_is_of_the_metric_that_is_named() -> None:
    opt = two_objectives()
    cost, impurity = (viz.importance(opt, metric=name) for name in ("cost", "impurity"))
    assert cost["x"] > 0.6  # 2 x against y squared
    assert impurity["y"] > cost["y"]
    ax = viz.plot_importance(opt, metric="impurity")
    drawn = {tick.get_text(): bar.get_width() for tick, bar in zip(ax.get_yticklabels(), ax.patches)}
    assert drawn == pytest.approx(impurity)


def test_a_metric_that_nobody_measured_is_said_to_be_so() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, **CHEMISTRY, seed=0)
    for x in (0.1, 0.5, 0.9):
        opt.tell({"x": x}, {"yield": x, "cost": 1.0 - x})
    with pytest.raises(NoObservationsError, match="'impurity' was not measured yet"):
        viz.ModelView(opt, metric="impurity")
    assert viz.ModelView(opt).measured == ["yield", "cost"]
    assert math.isnan(viz.ModelView(opt).at([{"x": 0.3}]).feasibility[0])  # it cannot be told


def test_looking_at_another_metric_leaves_the_first_view_as_it_was() -> None:
    view = viz.ModelView(two_objectives())
    before = view.values.tolist()
    other = view.of("cost")
    assert other.values.tolist() == [t.values["cost"] for t in other.trials]
    assert view.values.tolist() == before
    assert view.metric == "yield"
    assert math.isnan(view.proxy)


def test_looking_at_metrics_changes_nothing() -> None:
    one, other = (run_chemistry(Optimizer(BENCH, **CHEMISTRY, seed=3), 12) for _ in range(2))
    viz.plot_front(one)
    viz.plot_slices(one, metric="impurity")
    viz.plot_credit_over_time(one, columns=4)
    assert one.ask().params == other.ask().params


def test_the_past_credits_of_named_metrics_end_with_the_present_ones() -> None:
    opt = two_objectives()
    history = viz.replay_credits(opt, columns=5)
    assert history.trial_ids == tuple(t.id for t in opt.observations)
    assert np.isnan(history.credits[-1, 0])
    now = np.array([row.credit for row in opt.credits()])
    assert np.corrcoef(history.credits[:, -1], now)[0, 1] > 0.7  # paths are drawn anew
    assert viz.plot_credit_over_time(opt, columns=5).has_data()


# -- parallel coordinates


def test_parallel_coordinates_have_an_axis_for_each_metric() -> None:
    opt = two_objectives()
    ax = viz.plot_parallel(opt)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["x", "y", "solvent", "yield", "cost", "impurity"]
    lines = [line for line in ax.get_lines() if len(line.get_xdata()) > 2]
    assert len(lines) == len(opt.observations)
    assert sorted(len(line.get_xdata()) for line in lines)[:2] == [5, 6]  # one passes by the impurity
    dotted = [line for line in lines if line.get_linestyle() == ":"]
    assert len(dotted) == sum(feasible(t.values, opt.metrics) is False for t in opt.observations)
    costs = np.array([t.values["cost"] for t in opt.observations])
    heights = sorted(float(np.asarray(line.get_ydata())[list(line.get_xdata()).index(4)]) for line in lines)
    assert heights == pytest.approx(sorted((costs - costs.min()) / np.ptp(costs)))


def test_the_allowed_range_of_a_metric_stands_on_its_axis() -> None:
    opt = two_objectives()
    ax = viz.plot_parallel(opt)
    impurity = [t.values["impurity"] for t in opt.observations if "impurity" in t.values]
    low, high = min(impurity), max(impurity)
    (allowed,) = [line for line in ax.get_lines() if line.get_linewidth() == 4]
    assert list(allowed.get_xdata()) == [5, 5]
    assert list(allowed.get_ydata()) == pytest.approx([0.0, (0.6 - low) / (high - low)])


def test_all_of_the_front_rank_first_and_the_infeasible_last() -> None:
    opt = two_objectives()
    done = list(opt.observations)
    rank = ranks(done, opt.metrics)
    front = {t.id for t in opt.pareto_front()}
    for trial, r in zip(done, rank):
        kept = feasible(trial.values, opt.metrics)
        assert (r == 1.0) == (trial.id in front)
        assert kept is True or r == 0.0
    assert viz.plot_parallel(opt.result()).has_data()


@pytest.mark.heavy
@pytest.mark.parametrize("opt", [two_objectives, constrained, three_objectives])
def test_every_figure_of_a_model_draws_named_metrics(opt: Callable[[], Optimizer]) -> None:
    for draw in (viz.plot_parallel, viz.plot_importance, viz.plot_credit_over_time, viz.plot_map):
        ax = draw(opt())
        assert ax.has_data()
        ax.figure.canvas.draw()
    for many in (viz.plot_maps, viz.plot_slices):
        axes = many(opt())
        axes.flat[0].figure.canvas.draw()
        assert all(ax.has_data() for ax in axes.flat)
    plt.close("all")
