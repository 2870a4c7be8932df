"""Numbers as people and spreadsheets write them."""

from __future__ import annotations

import math

import pytest
import space_strategies  # noqa: F401 - the profile of Hypothesis
from hypothesis import given
from hypothesis import strategies as st

from ccgbo.study.numbers import as_number, decimal_mark, is_nothing, is_rounding, read_number

NUMBERS = {
    "0.93": 0.93, " -1e3 ": -1000.0, "0,93": 0.93, "12,5": 12.5, "1,2345": 1.2345, "-,5": -0.5, "1,5e-3": 0.0015,
    "\N{MINUS SIGN}2": -2.0, "1.234": 1.234, "5.0": 5.0, "inf": math.inf,
}  # fmt: skip


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_a_number_is_read_as_people_write_it(text: str, number: float) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize("text", ["1,234", "1.234,5", "1,234.5", "1 234", "1_000", "2-May", "", "1,2,3", "0x1"])
def test_a_number_that_can_be_read_in_two_ways_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        read_number(text)
    assert as_number(text) is None


def test_the_other_numbers_of_a_table_decide() -> None:
    assert decimal_mark(["0.5", "1.234", "x", ""]) == "."
    assert decimal_mark(["0,5", "1,234"]) == ","
    assert decimal_mark(["1,234"]) == "."
    assert decimal_mark(["1,234"], ";") == ","
    assert decimal_mark(["0,5", "0.5"], ";") is None
    assert read_number("1,234", ",") == 1.234
    for text, mark in [("1.234", ","), ("1.234", None), ("1,234", None)]:
        with pytest.raises(ValueError, match=r"can be read in one way only: 1234 or 1\.234"):
            read_number(text, mark)  # type: ignore[arg-type]
    assert read_number("12.5", ",") == 12.5


@pytest.mark.parametrize("text", ["", "  ", "NaN", "nan", "#N/A", "N/A", "NA", "#NUM!", "NULL", "#DIV/0!", "None"])
def test_nothing_is_spelled_in_many_ways(text: str) -> None:
    assert is_nothing(text)


@given(st.floats(1e-300, 1e300), st.integers(6, 16))
def test_a_number_that_was_shown_with_six_digits_or_more_is_known_again(number: float, digits: int) -> None:
    shown = f"{number:.{digits}g}" if not 1e5 <= number < 1e11 else f"{number:.{digits - 1}f}"
    assert is_rounding(float(shown), number)
    assert is_rounding(-float(shown), -number)


@pytest.mark.parametrize(
    ("cell", "known"),
    [(73.5001, 73.5), (1000000.0, 1000001.0), (0.9, 0.93), (0.0, 1e-9), (5.0, 5.00001), (math.inf, 1.0), (-1.0, 1.0)],
)
def test_a_number_that_was_corrected_is_no_rounding(cell: float, known: float) -> None:
    assert not is_rounding(cell, known)
