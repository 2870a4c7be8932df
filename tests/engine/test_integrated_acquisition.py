"""``FitSettings.hyper_samples``: acquisitions averaged over draws of the hyperparameters."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ccgbo import Optimizer
from ccgbo.acquisition.averaged import Averaged
from ccgbo.engine.proposal import propose
from ccgbo.engine.step import integrated_posterior
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.mixture import Mixture

SPACE = {"x": (-2.0, 2.0), "y": (-1.0, 3.0)}
DRAWS = {"hyper_samples": 6}


def bowl(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - 2.0 * (y - 1.0) ** 2 + 0.3 * np.sin(5.0 * x)


def run(opt: Optimizer, n: int, f: Any = bowl) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        trial = opt.ask()
        asked.append(dict(trial.params))
        opt.tell(trial, f(**trial.params))
    return asked


@pytest.fixture
def spent() -> Optimizer:
    opt = Optimizer(SPACE, fit=DRAWS, acquisition="logei", seed=0)
    run(opt, 14)
    return opt


def test_an_acquisition_is_averaged_and_what_is_told_of_the_model_is_of_the_most_likely_one(spent: Optimizer) -> None:
    state = spent.snapshot()
    proposal = propose(state, spent.generator())
    assert isinstance(proposal.base, Averaged)
    assert isinstance(state.model.posterior, GP)
    assert len(spent.influence().rows) == len(spent.credits()) == 14
    assert spent.diagnose() is not None


def test_with_credit_draws_count_for_the_best_observations_and_without_by_their_evidence(spent: Optimizer) -> None:
    plain = Optimizer(SPACE, fit=DRAWS, acquisition="logei", credit=False, seed=0)
    plain.tell_many([trial.params for trial in spent.trials], [trial.value for trial in spent.trials])
    with_credit, without = (integrated_posterior(opt.snapshot()) for opt in (spent, plain))
    assert isinstance(with_credit, Mixture)
    assert isinstance(without, Mixture)
    assert not np.array_equal(with_credit.weights, without.weights)


def test_no_draws_suggest_what_the_most_likely_hyperparameters_do() -> None:
    assert run(Optimizer(SPACE, fit={"hyper_samples": 0}, seed=3), 14) == run(Optimizer(SPACE, seed=3), 14)
    assert run(Optimizer(SPACE, fit=DRAWS, seed=3), 14) != run(Optimizer(SPACE, seed=3), 14)


def test_a_restored_optimizer_goes_on_bit_for_bit(spent: Optimizer) -> None:
    restored = Optimizer(SPACE, fit=DRAWS, acquisition="logei", seed=5)
    restored.load_state_dict(json.loads(json.dumps(spent.state_dict())))
    assert run(restored, 5) == run(spent, 5)


@pytest.mark.parametrize("acquisition", ["logei", "ts", "ucb", "jes", "mes", "ei", "alternate"])
def test_every_acquisition_works_with_choices_and_pending_points(acquisition: str) -> None:
    space = {"x": (0.0, 1.0), "kind": ["a", "b", "c"]}
    opt = Optimizer(space, fit=DRAWS, acquisition=acquisition, seed=0, n_initial=6)
    run(opt, 9, lambda x, kind: -((x - 0.3) ** 2) + 0.1 * (kind == "b"))
    batch = opt.ask(3)
    assert len({(t.params["x"], t.params["kind"]) for t in batch}) == 3


@pytest.mark.parametrize("noise", ["none", 0.05])
def test_noise_that_is_known_stays_as_it_is_in_every_member(noise: Any) -> None:
    opt = Optimizer(SPACE, fit=DRAWS, noise=noise, seed=0)
    run(opt, 14)
    state = opt.snapshot()
    mixed, alone = integrated_posterior(state), state.model.posterior
    assert isinstance(mixed, Mixture)
    assert isinstance(alone, GP)
    assert all(np.allclose(member.noise, alone.noise) for member in mixed.members)


def test_a_surrogate_without_hyperparameters_is_left_as_it_is() -> None:
    opt = Optimizer(SPACE, fit=DRAWS, surrogate="forest", seed=0)
    run(opt, 12)
    state = opt.snapshot()
    assert integrated_posterior(state) is state.model.posterior
