"""Credit from other sources than the paper's likelihood."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from conftest import make_gp

import ccgbo
from ccgbo.bench.credited import CreditedBy, Source, credit_ranks, maxima_of
from ccgbo.credit.field import CreditSettings
from ccgbo.credit.scores import score


def test_the_likelihood_ranks_as_the_paper_does_and_the_others_by_what_they_say() -> None:
    gp = make_gp(n=12)
    found = maxima_of(gp, np.random.default_rng(0).random((60, 3)), 10, np.random.default_rng(1))
    z = float(found.full.maxima[0, :-1].mean())
    by = {source: credit_ranks(source, gp, found) for source in get_args(Source)}
    np.testing.assert_array_equal(by["likelihood"], score(*gp.at_observations(), z).rank)
    assert by["worth"].argmax() == found.worth.argmax()
    assert by["fall"].argmax() == found.without.maxima[:, :-1].mean(axis=1).argmin()
    np.testing.assert_allclose(by["half"], 0.5 * (by["likelihood"] + by["worth"]))


@pytest.mark.parametrize("source", get_args(Source))
def test_every_source_suggests_and_without_strength_all_are_the_base(source: Source) -> None:
    def suggested(acquisition: object) -> list[dict[str, float]]:
        opt = ccgbo.Optimizer(
            {"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0, n_initial=6, acquisition=acquisition, credit=False
        )
        for _ in range(8):
            trial = opt.ask()
            opt.tell(trial, trial.params["x"] - trial.params["y"] ** 2)
        return [dict(trial.params) for trial in opt.trials]

    base = ccgbo.UCB(beta=2.0)
    none, full = CreditSettings(strength=0.0), CreditSettings(strength=1.0, tau=20.0)
    assert suggested(CreditedBy(source=source, base=base, credit=none)) == suggested(base)
    assert suggested(CreditedBy(source=source, base=base, credit=full)) != suggested(base)


def test_a_surrogate_without_the_algebra_is_refused() -> None:
    opt = ccgbo.Optimizer(
        {"x": (0.0, 1.0)}, seed=0, n_initial=2, surrogate="forest", acquisition=CreditedBy(source="worth"), credit=False
    )
    opt.tell_many([{"x": 0.1}, {"x": 0.9}], [0.0, 1.0])
    with pytest.raises(ccgbo.SettingError, match="CreditedBy must have surrogate='gp', got a Forest"):
        opt.ask()
