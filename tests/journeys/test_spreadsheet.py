"""The spreadsheet: the laboratory gets a table, fills in what it measured, and sends it back."""

from __future__ import annotations

import csv

import openpyxl

from .desk import Desk

SPACE = """
[parameters.temperature]
type = "float"
low = 20.0
high = 100.0
[parameters.stirred]
type = "categorical"
choices = [true, false]
"""


def fill_in(desk: Desk, *, from_: str, to: str, as_excel: bool = False) -> int:
    """Give every row without a value one; how many there were."""
    with (desk.folder / from_).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    empty = [row for row in rows if not row["value"]]
    for row in empty:
        row["value"] = str(100 + int(row["id"]))
    if as_excel:
        for row in rows:
            row["params_stirred"] = row["params_stirred"].upper()
    with (desk.folder / to).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return len(empty)


def start(desk: Desk) -> None:
    desk.write("space.toml", SPACE)
    desk.does("ccgbo init lab.db --space space.toml --seed 0")
    desk.does("ccgbo ask lab.db -n 5")
    desk.does("ccgbo tell lab.db 0 71.5")
    desk.does("ccgbo tell lab.db 1 68")
    desk.does("ccgbo export lab.db lab.csv")


def test_values_filled_into_the_exported_table_are_those_of_the_pending_trials(desk: Desk) -> None:
    start(desk)
    assert fill_in(desk, from_="lab.csv", to="filled.csv") == 3
    desk.does("ccgbo import lab.db filled.csv")
    expected = {0: 71.5, 1: 68.0, 2: 102.0, 3: 103.0, 4: 104.0}
    assert desk.values("lab.db") == expected
    assert len(desk.trials("lab.db")) == 5
    desk.does("ccgbo import lab.db filled.csv")  # sent twice
    assert desk.values("lab.db") == expected
    assert len(desk.trials("lab.db")) == 5


def test_a_table_that_a_spreadsheet_saved_comes_back(desk: Desk) -> None:
    start(desk)
    fill_in(desk, from_="lab.csv", to="filled.csv", as_excel=True)
    desk.does("ccgbo import lab.db filled.csv")
    assert sorted(desk.values("lab.db")) == list(range(5))


def test_a_table_with_a_mistake_in_it_changes_nothing_and_says_which_row(desk: Desk) -> None:
    start(desk)
    fill_in(desk, from_="lab.csv", to="filled.csv")
    text = (desk.folder / "filled.csv").read_text(encoding="utf-8").replace("103", "much")
    desk.write("filled.csv", text)
    said = desk.terminal("ccgbo import lab.db filled.csv")
    assert said.code == 1
    assert "row 4" in said.err and "much" in said.err
    assert len(desk.values("lab.db")) == 2


def test_a_table_from_a_country_with_decimal_commas_comes_back_corrected(desk: Desk) -> None:
    start(desk)
    desk.does("ccgbo export lab.db lab.csv --dialect semicolon")
    text = (desk.folder / "lab.csv").read_text(encoding="utf-8-sig")
    rows = [line.split(";") for line in text.splitlines()]
    value, temperature = rows[0].index("value"), rows[0].index("params_temperature")
    rows[1][value] = "17,5"  # it had been mistyped
    rows[3][value] = "103,25"
    rows[3][temperature] = "71,2"  # the oven was not where it should have been
    desk.write("back.csv", "\r\n".join(";".join(row) for row in rows))
    said = desk.terminal("ccgbo import lab.db back.csv --dry-run")
    assert "would tell 1 pending trial (1 with other settings than asked), skip 1 unchanged" in said.out
    assert "row 1, trial 0: value 71.5 -> 17.5" in said.out
    assert desk.values("lab.db") == {0: 71.5, 1: 68.0}
    desk.does("ccgbo import lab.db back.csv")
    assert desk.values("lab.db") == {0: 71.5, 1: 68.0, 2: 103.25}
    desk.does("ccgbo import lab.db back.csv --amend")
    desk.does("ccgbo import lab.db back.csv --amend")  # sent twice
    assert desk.values("lab.db") == {0: 17.5, 1: 68.0, 2: 103.25}
    assert desk.trials("lab.db")[2]["params"]["temperature"] == 71.2


def test_a_workbook_comes_back(desk: Desk) -> None:
    start(desk)
    desk.does("ccgbo export lab.db lab.xlsx")
    book = openpyxl.load_workbook(desk.folder / "lab.xlsx")
    column = next(cell.column for cell in book.active[1] if cell.value == "value")
    for row in range(4, 7):
        book.active.cell(row, column).value = 100 + row
    book.save(desk.folder / "lab.xlsx")
    desk.does("ccgbo import lab.db lab.xlsx")
    assert desk.values("lab.db") == {0: 71.5, 1: 68.0, 2: 104.0, 3: 105.0, 4: 106.0}
