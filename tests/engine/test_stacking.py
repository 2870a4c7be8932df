"""``surrogate="stacked"``: several fits, mixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import Optimizer
from ccgbo.engine.fit_state import FitState
from ccgbo.engine.model import build_model
from ccgbo.engine.stacking import RELEVANCE
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.mixture import Mixture

VALLEY = {"x": (-2.0, 2.0), "y": (-1.0, 3.0)}


def valley(x: float, y: float) -> float:
    return -100.0 * (y - x * x) ** 2 - (1.0 - x) ** 2


def run(opt: Optimizer, n: int, f: Any = valley) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        trial = opt.ask()
        asked.append(dict(trial.params))
        opt.tell(trial, f(**trial.params))
    return asked


def members_of(opt: Optimizer) -> tuple[GP, ...]:
    posterior = opt.snapshot().model.posterior
    assert isinstance(posterior, GP | Mixture)
    return posterior.members if isinstance(posterior, Mixture) else (posterior,)


@pytest.fixture
def spent() -> Optimizer:
    opt = Optimizer(VALLEY, surrogate="stacked", seed=0)
    run(opt, 16)
    return opt


def test_in_a_valley_a_member_with_relevance_counts(spent: Optimizer) -> None:
    assert any(member.hyper.relevance == RELEVANCE for member in members_of(spent))


def test_it_finds_the_end_of_a_valley() -> None:
    opt = Optimizer(VALLEY, surrogate="stacked", seed=1)
    run(opt, 40)
    assert opt.best_value > -0.5


def test_the_same_seed_suggests_the_same_and_a_restored_optimizer_goes_on_bit_for_bit(spent: Optimizer) -> None:
    again = Optimizer(VALLEY, surrogate="stacked", seed=0)
    run(again, 16)
    restored = Optimizer(VALLEY, surrogate="stacked", seed=5)
    restored.load_state_dict(json.loads(json.dumps(again.state_dict())))
    assert run(restored, 6) == run(spent, 6)


def test_a_state_of_another_surrogate_is_fitted_anew(spent: Optimizer) -> None:
    state = FitState((0.0, 0.0, 0.0), len(spent.data.values))
    model = build_model(spent.data, spent.space.choices, spent.settings, None, state, refit=False)
    assert len(model.fit.theta) > 3


def test_between_fits_the_hyperparameters_stand(spent: Optimizer) -> None:
    data, choices, settings = spent.data, spent.space.choices, spent.settings
    first = build_model(data[:12], choices, settings)
    kept = build_model(data, choices, settings, first, first.fit, refit=False)
    assert kept.fit.theta == first.fit.theta
    assert build_model(data, choices, settings, first, first.fit, refit=True).fit.theta != first.fit.theta
    lazy = ccgbo.Settings(surrogate="stacked", tuning=ccgbo.EngineTuning(refit_growth=0.5))
    assert build_model(data, choices, lazy, first, first.fit).fit == first.fit


@pytest.mark.parametrize("acquisition", ["logei", "ts", "ucb", "jes", "mes", "ei"])
def test_every_acquisition_works_on_it_with_choices_and_pending_points(acquisition: str) -> None:
    space = {"x": (0.0, 1.0), "kind": ["a", "b", "c"]}
    opt = Optimizer(space, surrogate="stacked", acquisition=acquisition, seed=0, n_initial=6)
    run(opt, 9, lambda x, kind: -((x - 0.3) ** 2) + 0.1 * (kind == "b"))
    batch = opt.ask(3)
    assert len({(t.params["x"], t.params["kind"]) for t in batch}) == 3


def test_what_is_said_about_a_run_is_said_of_it_too(spent: Optimizer) -> None:
    assert len(spent.credits()) == 16
    assert np.isfinite(spent.recommend().mean)
    assert spent.diagnose() is not None


def test_it_is_stored_by_its_name(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", VALLEY, surrogate="stacked", seed=0) as study:
        study.tell(study.ask(), 1.0)
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert study.settings.surrogate == "stacked"
