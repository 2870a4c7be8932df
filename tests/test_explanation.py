"""Why a point was suggested, in words."""

from __future__ import annotations

from ccgbo.explanation import Explanation, Neighbour

NEAR = (Neighbour(trial_id=7, distance=0.1, credit=0.93),)


def explained(**changes: object) -> str:
    told = {"reason": "suggested by the model", "t": 3, "acquisition": "LogEI", "mean": 0.5, "std": 0.25, "base": -1.55}
    return str(Explanation(**{**told, "weight": 1.0, "factor": 1.0, **changes}))  # type: ignore[arg-type]


def test_an_explanation_is_plain_sentences_without_the_numbers_of_the_search() -> None:
    said = explained()
    assert "promises the largest improvement on average" in said and "expected 0.5 ± 0.25" in said
    assert "base" not in said and "1.55" not in said and "maxim" not in said


def test_credit_is_not_claimed_where_it_did_not_act() -> None:
    assert "credit did not act on this choice" in explained()
    assert "it did not change the choice" in explained(neighbours=NEAR)


def test_credit_that_acted_is_told_with_the_trials_around() -> None:
    said = explained(neighbours=NEAR, weight=0.25, factor=0.25)
    assert "credit of the trials around it: 7 (0.93); by that its promise counts 25 %" in said
    assert "beforehand" not in said
    assert "less than 1 %" in explained(neighbours=NEAR, weight=1e-5, factor=1e-5)


def test_other_factors_are_told_apart_from_credit() -> None:
    assert "count 40 % in all" in explained(factor=0.4)


def test_an_acquisition_of_ones_own_is_named() -> None:
    assert "the best point of the acquisition (Mine)" in explained(acquisition="Mine")


def test_without_a_model_the_reason_is_all() -> None:
    assert str(Explanation(reason="initial design")) == "initial design"
