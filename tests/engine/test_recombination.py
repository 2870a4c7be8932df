"""The middle of the most promising observations as a suggestion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ccgbo import Categorical, NormalPrior, Optimizer
from ccgbo.engine.proposal import propose
from ccgbo.engine.recombination import PARENTS, is_due, recombined
from ccgbo.engine.settings import FEW
from ccgbo.tuning import EngineTuning

ENOUGH = EngineTuning().recombine_from
FAST: dict[str, Any] = {"n_candidates": 32, "n_local": 32, "n_starts": 1, "search_steps": 4, "max_iterations": 10}


def cube(d: int) -> dict[str, Any]:
    return {f"x{i}": (0.0, 1.0) for i in range(d)}


def told(d: int = FEW + 1, n: int = 15, space: dict[str, Any] | None = None, **settings: Any) -> Optimizer:
    opt = Optimizer(cube(d) if space is None else space, seed=0, n_initial=n, **{"tuning": FAST} | settings)
    U = opt.space.sample(n, np.random.default_rng(1))
    opt.tell_many([opt.space.decode(u) for u in U], (-((U - 0.3) ** 2).sum(axis=1)).tolist())
    return opt


def test_it_is_the_mean_of_the_best_with_weights_that_fall_with_the_logarithm_of_the_place() -> None:
    state = told().snapshot()
    merit = np.random.default_rng(2).random(15)
    best = state.observed[np.argsort(-merit)[:PARENTS]]
    weights = np.log(PARENTS + 0.5) - np.log(np.arange(1, PARENTS + 1))
    found = recombined(state, merit)
    assert found is not None
    np.testing.assert_allclose(found, np.average(best, axis=0, weights=weights), rtol=1e-12)


def test_beyond_twenty_parameters_the_first_suggestion_is_the_middle_and_says_so() -> None:
    opt = told()
    proposal = propose(opt.snapshot(), opt.generator())
    assert proposal.recombines and proposal.scores is not None and proposal.chosen is not None
    np.testing.assert_array_equal(proposal.chosen, recombined(opt.snapshot(), proposal.scores.credit))
    trial = opt.ask()
    assert trial.params == opt.space.decode(proposal.chosen)
    said = str(opt.explain(trial))
    assert "the middle of the most promising trials" in said
    assert "which trials these are was decided by credit" in said
    assert "counts" not in said  # no acquisition was weighed


def test_then_it_is_every_tenth() -> None:
    opt, found = told(), []
    for t in range(12):
        found.append(is_due(opt.snapshot()))
        opt.tell(opt.ask(), -1.0 - 0.01 * t)
    assert np.flatnonzero(found).tolist() == [0, 10]


@pytest.mark.parametrize("settings", [{"d": FEW}, {"adapt": False}])
def test_the_default_for_few_parameters_does_not_begin_with_it(settings: dict[str, Any]) -> None:
    opt = told(**settings)
    assert not is_due(opt.snapshot()) and not propose(opt.snapshot(), opt.generator()).recombines


def due_after(values: list[float], opt: Optimizer) -> list[bool]:
    """Whether the middle is due before each suggestion, where they are told these values."""
    found = []
    for value in values:
        found.append(is_due(opt.snapshot()))
        opt.tell(opt.ask(), value)
    return found


def test_up_to_twenty_parameters_it_follows_a_suggestion_that_did_not_become_the_best() -> None:
    rising = [float(value) for value in range(1, 5)]
    assert due_after([*rising, 0.0, 5.0, 0.0, 0.0], told(d=ENOUGH, noise="none")) == [False] * 5 + [True, False, True]


def test_while_none_becomes_the_best_it_comes_again_at_every_tenth() -> None:
    found = due_after([1.0, *np.linspace(-1.0, -2.0, 22)], told(d=ENOUGH, noise="none"))
    assert np.flatnonzero(found).tolist() == [2, 12, 22]


@pytest.mark.parametrize(
    "settings",
    [
        {"d": ENOUGH - 1},
        {"space": {**cube(ENOUGH), "kind": Categorical(["a", "b"])}},
        {"d": ENOUGH, "preset": "paper"},
        {"d": ENOUGH, "tuning": FAST | {"recombine_stalled": None}},
        {"d": ENOUGH, "tuning": FAST | {"recombine_from": ENOUGH + 1}},
    ],
)
def test_fewer_parameters_choices_and_the_paper_do_without_it(settings: dict[str, Any]) -> None:
    assert not any(due_after([1.0, -1.0, -2.0, -3.0], told(noise="none", **settings)))


def test_before_the_first_suggestion_a_bad_value_told_from_elsewhere_asks_for_no_middle() -> None:
    opt = told(d=ENOUGH)
    opt.tell({f"x{i}": 0.9 for i in range(ENOUGH)}, -9.0)
    assert not is_due(opt.snapshot())


def test_without_credit_the_places_are_those_of_the_posterior_mean() -> None:
    opt = told(credit=False)
    proposal, state = propose(opt.snapshot(), opt.generator()), opt.snapshot()
    assert proposal.recombines and proposal.scores is None and proposal.chosen is not None
    np.testing.assert_array_equal(proposal.chosen, recombined(state, state.model.mean))


def test_only_observations_with_the_choices_of_the_best_one_take_part() -> None:
    space = {**cube(FEW), "kind": Categorical(["a", "b", "c"]), "n": (1, 9)}
    state = told(n=30, space=space).snapshot()
    merit = np.random.default_rng(2).random(30)
    order = np.argsort(-merit)
    best = state.observed[order[0]]
    kind = list(state.space).index("kind")
    mates = [i for i in order if state.observed[i, kind] == best[kind]][:PARENTS]
    assert len(mates) >= 2
    found = recombined(state, merit)
    assert found is not None and found[kind] == best[kind]
    np.testing.assert_array_equal(found, state.space.snap(found[None])[0])
    weights = np.log(len(mates) + 0.5) - np.log(np.arange(1, len(mates) + 1))
    np.testing.assert_allclose(
        found[:FEW], np.average(state.observed[mates][:, :FEW], axis=0, weights=weights), rtol=1e-12
    )


def test_one_observation_has_no_middle() -> None:
    state = told(n=1).snapshot()
    assert recombined(state, np.ones(1)) is None
    assert not propose(state, np.random.default_rng(0)).recombines


def test_a_middle_that_is_under_evaluation_is_not_suggested_twice() -> None:
    opt = told(tuning=FAST | {"recombine_every": 1})
    proposal = propose(opt.snapshot(), opt.generator())
    assert proposal.recombines and proposal.scores is not None
    assert opt.space.decode(proposal.chosen) == opt.ask().params
    assert is_due(opt.snapshot()) and recombined(opt.snapshot(), proposal.scores.credit) is None


def test_a_belief_about_the_optimum_goes_before_the_middle() -> None:
    corner = {name: NormalPrior(0.95, 0.02) for name in cube(FEW + 1)}
    assert not propose(told(prior=corner).snapshot(), np.random.default_rng(0)).recombines
    middle = {name: NormalPrior(0.5, 100.0) for name in cube(FEW + 1)}
    assert propose(told(prior=middle).snapshot(), np.random.default_rng(0)).recombines


def test_failures_around_the_middle_go_before_it_and_one_elsewhere_does_not() -> None:
    opt = told()
    opt.tell(opt.space.decode(np.full(FEW + 1, 0.99)), failed=True)
    proposal = propose(opt.snapshot(), opt.generator())
    place = proposal.chosen
    assert proposal.recombines and place is not None
    for step in np.random.default_rng(3).normal(0.0, 0.003, (40, len(place))):
        opt.tell(opt.space.decode(np.clip(place + step, 0.0, 1.0)), failed=True)
    assert not propose(opt.snapshot(), opt.generator()).recombines
