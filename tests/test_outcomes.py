"""What may be told of a trial."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ccgbo import TellError, UnsupportedError
from ccgbo.outcomes import outcome_of

FIELDS = ["state", "value", "noise_variance", "readings", "error", "metrics"]


@pytest.mark.parametrize("value", [0.5, [0.5], (0.5,), [[0.5]], np.array([0.5]), np.array(0.5), np.float32(0.5)])
def test_one_number_is_a_value_however_it_is_wrapped(value: Any) -> None:
    assert outcome_of(value) == dict(zip(FIELDS, ["complete", 0.5, None, (), None, {}], strict=True))


@pytest.mark.parametrize("value", [[1, 2.0, 6.0], np.array([1.0, 2.0, 6.0]), [np.float64(1), np.array(2), 6]])
def test_a_list_is_readings_and_their_mean_the_value(value: Any) -> None:
    outcome = outcome_of(value)
    assert outcome == dict(zip(FIELDS, ["complete", 3.0, None, (1.0, 2.0, 6.0), None, {}], strict=True))
    assert [type(reading) for reading in outcome["readings"]] == [float] * 3


def test_a_series_of_pandas_is_readings() -> None:
    pd = pytest.importorskip("pandas")
    assert outcome_of(pd.Series([1.0, 2.0]))["readings"] == (1.0, 2.0)


def test_the_mean_of_the_largest_numbers_is_finite() -> None:
    assert outcome_of([1.7e308, 1.7e308])["value"] == 1.7e308


def test_a_tuple_of_two_is_a_value_with_its_standard_error() -> None:
    assert outcome_of((0.5, 0.25)) == dict(zip(FIELDS, ["complete", 0.5, 0.0625, (), None, {}], strict=True))


def test_a_failure_and_a_value_that_is_none_clear_what_was_known() -> None:
    assert outcome_of(None, failed=True, error="broke") == dict(
        zip(FIELDS, ["failed", None, None, (), "broke", {}], strict=True)
    )
    assert outcome_of(math.nan)["error"] == "the value was nan"
    assert outcome_of((math.inf, 0.1))["state"] == "failed"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.5, math.nan], r"value\[1\], a reading, must be a finite number, got nan"),
        ([math.inf, 0.5], r"value\[0\], a reading, must be a finite number, got inf"),
        ([0.5, "x"], r"value\[1\], a reading, must be a finite number, got 'x'"),
        ([0.5, True], r"value\[1\], a reading, must be a finite number, got True"),
        ((0.5, -0.1), r"value\[1\], a standard error, must be a finite number >= 0, got -0.1"),
        ((0.5, None), r"value\[1\], a standard error, must be a finite number >= 0, got None"),
        ((0.5, 1e200), r"value\[1\], a standard error, must be a finite number >= 0, got 1e\+200"),
        ((1.0, 2.0, 3.0), r"value must be a number, a list of readings or a tuple"),
        ([], r"value must be a number, a list of readings or a tuple .* got \[\]"),
        ("0.5", r"value must be a number, got '0.5'"),
    ],
)
def test_what_is_no_value_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(TellError, match=message):
        outcome_of(value)


@pytest.mark.parametrize("value", [{"a": 1.0}, np.ones((2, 2))])
def test_several_values_are_refused_where_there_is_one_objective_without_a_name(value: Any) -> None:
    with pytest.raises(UnsupportedError, match="value must be one number"):
        outcome_of(value)


@pytest.mark.parametrize("value", [[0.5, 0.7], (0.5, 0.1)])
def test_readings_and_a_standard_error_bring_their_own_noise(value: Any) -> None:
    with pytest.raises(TellError, match=r"noise_variance must be None where value has .* got 0\.1"):
        outcome_of(value, noise_variance=0.1)
