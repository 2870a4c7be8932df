"""The step as a function: the same whether it is asked for or looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccgbo import UCB, Alternate, LogEI, Optimizer
from ccgbo.acquisition import Constant, Schedule, as_schedule
from ccgbo.engine.proposal import prepare, propose, question
from ccgbo.errors import SpaceExhaustedError
from ccgbo.space import as_space

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def told(n: int = 12, **settings: Any) -> Optimizer:
    opt = Optimizer(BOX, seed=3, **settings)
    points = np.random.default_rng(0).random((n, 2))
    opt.tell_many([{"x": x, "y": y} for x, y in points], [-((x - 0.3) ** 2) - (y - 0.6) ** 2 for x, y in points])
    return opt


@pytest.mark.parametrize("settings", [{}, {"preset": "paper"}, {"acquisition": "ts"}, {"pending": "kriging_believer"}])
def test_a_proposal_from_a_snapshot_is_the_next_suggestion(settings: dict[str, Any]) -> None:
    opt = told(**settings)
    for _ in range(3):
        seen = propose(opt.snapshot(), opt.generator())
        assert seen.chosen is not None
        assert opt.space.decode(seen.chosen) == opt.ask().params


def test_proposing_changes_nothing() -> None:
    opt, other = told(), told()
    for _ in range(2):
        propose(opt.snapshot(), opt.generator())
    assert opt.state() == other.state()
    assert opt.ask().params == other.ask().params


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_the_credits_are_those_of_the_next_step_with_credit(preset: str) -> None:
    opt = told(preset=preset)
    state = opt.snapshot()
    turn = next(turn for t in range(2) if (turn := as_schedule(opt.settings.acquisition).at(t, opt.space)).credited)
    proposal = prepare(state, turn, opt.generator())
    assert proposal.scores is not None and proposal.chosen is None
    assert [row.credit for row in opt.credits()] == proposal.scores.credit.tolist()
    assert question(state, opt.generator())[0].z == proposal.scores.z


def test_the_values_of_a_proposal_are_those_of_its_weighted_acquisition() -> None:
    opt = told(preset="paper")
    proposal = propose(opt.snapshot(), opt.generator())
    np.testing.assert_allclose(proposal.weighted(proposal.F), proposal.values, rtol=1e-12)
    np.testing.assert_array_equal(proposal.F, opt.space.features(proposal.U))
    assert proposal.chosen is not None
    best = proposal.weighted(opt.space.features(proposal.chosen[None, :]))[0]
    assert best == pytest.approx(proposal.values.max(), rel=1e-9)


def test_several_points_are_asked_for_all_or_none() -> None:
    opt = Optimizer({"n": (0, 2)}, seed=0)
    before = opt.state()
    with pytest.raises(SpaceExhaustedError):
        opt.ask(5)
    assert opt.trials == () and opt.state() == before
    assert len(opt.ask(3)) == 3 and [trial.id for trial in opt.trials] == [0, 1, 2]


# -- schedules and the gate


def test_a_schedule_is_no_acquisition_and_an_acquisition_is_the_constant_schedule() -> None:
    box, mixed = as_space(BOX), as_space({"c": ["a", "b"], "x": (0.0, 1.0)})
    alternate = Alternate(exploit=LogEI(), explore=UCB(), period=3, in_mixed=False)
    assert isinstance(alternate, Schedule) and not hasattr(alternate, "bind")
    assert [alternate.at(t, box).credited for t in range(6)] == [False, False, True] * 2
    assert [alternate.at(t, box).acquisition for t in range(3)] == [LogEI(), LogEI(), UCB()]
    assert not any(alternate.at(t, mixed).credited for t in range(6))
    assert {replace(alternate, period=None).at(t, box) for t in range(6)} == {(LogEI(), False)}
    assert as_schedule(UCB()) == Constant(UCB()) and Constant(UCB()).at(4, box) == (UCB(), True)
    assert as_schedule(alternate) is alternate


def test_the_gate_comes_with_an_acquisition_in_place_of_the_defaults_own() -> None:
    gate = {name: Optimizer(BOX, acquisition=name).settings.credit.credit_when for name in ("ucb", "ts", "alternate")}
    assert set(gate.values()) == {"base_mean_below_incumbent"}
    same = Optimizer(BOX).settings.acquisition
    assert Optimizer(BOX, acquisition=same).settings == Optimizer(BOX).settings
    assert Optimizer(BOX).settings.credit.credit_when == "always"


class Own:
    """A user's acquisition with real values, far from the best observation."""

    codomain = "real"
    needs_optima = False

    def bind(self, context: Any) -> Any:
        return UCB(beta=0.0).bind(context)


@pytest.mark.parametrize(("acquisition", "steps_back"), [(UCB(beta=0.0), True), (Own(), False)])
def test_the_gate_is_asked_of_the_acquisition_by_name(acquisition: Any, steps_back: bool) -> None:
    """Without exploration UCB's own choice is never below the best mean: credit steps back, unless nobody asks."""
    credit = {"credit_when": "base_mean_below_incumbent", "strength": 1.0}
    opt = told(preset="paper", acquisition=acquisition, credit=credit, tuning={"n_candidates": 4000})
    proposal = propose(opt.snapshot(), opt.generator())
    assert (proposal.credit is None) == steps_back
    always = told(preset="paper", acquisition=acquisition, credit={"credit_when": "always"})
    assert propose(always.snapshot(), always.generator()).credit is not None
