"""Tables as spreadsheets save them."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import ccgbo
from ccgbo.errors import MissingExtraError
from ccgbo.study.transfer import export_study, import_file, to_csv

SPACE = {"t": (20.0, 90.0), "n": (1, 9), "stirred": ccgbo.Bool(), "kind": ["NA", "ä;b", 2.5, "7"]}


@pytest.fixture
def lab(tmp_path: Path) -> ccgbo.Study:
    """Three told trials and two pending ones."""
    study = ccgbo.Study(tmp_path / "lab.db", SPACE, seed=0)
    for trial in study.ask(3):
        study.tell(trial, trial.params["t"] / 7)
    study.ask(2)
    return study


PLAIN = "id,value\n3,0.25\n4,12.5\n"
FILES: dict[str, bytes] = {
    "plain": PLAIN.encode(),
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "semicolons": b"id;value\r\n3;0,25\r\n4;12,5\r\n",
    "semicolons and points": b"id;value\n3;0.25\n4;12.5\n",
    "tabs": b"id\tvalue\n3\t0,25\n4\t12,5\n",
    "Unicode text": "id\tvalue\r\n3\t0.25\r\n4\t12.5\r\n".encode("utf-16"),
    "big end first": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "it says what separates": b'sep=;\r\nid;value\r\n3;"0,25"\r\n4;12,5\r\n',
    "quoted commas": b'id,value\n3,"0,25"\n4,"12,5"\n',
    "trailing cells and rows": b"id,value,,\n3,0.25,,\n,,,\n4,12.5,,\n,,,\n\n",
    "spaces": b" id , value \n 3 , 0.25 \n 4 ,12.5\n",
    "whole floats": b"id,value\n3.0,0.25\n4.0,12.50\n",
    "Windows": "id;value;n\xf6te\n3;0,25;\xfc\n4;12,5;\n".encode("cp1252"),
    "old Macintosh": b"id,value\r3,0.25\r4,12.5\r",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_spreadsheets_of_many_countries_are_understood(lab: ccgbo.Study, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "back.csv").write_bytes(data)
    assert len(import_file(lab, tmp_path / "back.csv").told) == 2
    assert [t.value for t in lab.trials[3:]] == [0.25, 12.5]


def test_a_semicolon_table_has_decimal_commas_and_comes_back_unchanged(lab: ccgbo.Study, tmp_path: Path) -> None:
    assert export_study(lab, tmp_path / "lab.csv", dialect="semicolon") == 5
    data = (tmp_path / "lab.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfid;state;value;")
    cells = data.decode("utf-8-sig").splitlines()[1].split(";")
    assert cells[2] == repr(lab.trials[0].value).replace(".", ",")
    assert import_file(lab, tmp_path / "lab.csv").unchanged == (1, 2, 3)
    export_study(lab, tmp_path / "lab.tsv")
    assert (tmp_path / "lab.tsv").read_text().startswith("id\tstate\tvalue\t")
    assert import_file(lab, tmp_path / "lab.tsv").unchanged == (1, 2, 3)
    with pytest.raises(ccgbo.SettingError, match=r"one of \['comma', 'semicolon', 'tab'\], for CSV only"):
        export_study(lab, tmp_path / "lab.xlsx", dialect="tab")
    with pytest.raises(ccgbo.SettingError, match="dialect must be one of"):
        export_study(lab, tmp_path / "lab.csv", dialect="pipe")  # type: ignore[arg-type]


def test_a_column_that_is_there_twice_is_refused(lab: ccgbo.Study, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("id,value,value\n3,1,2\n")
    with pytest.raises(ccgbo.SettingError, match=r"is not valid csv: it has the column 'value' twice"):
        import_file(lab, tmp_path / "twice.csv")


# -- Excel's own files


def edited(path: Path, change: Callable[[Any], None]) -> None:
    """What somebody does in Excel."""
    book = openpyxl.load_workbook(path)
    change(book.active)
    book.save(path)


def column(sheet: Any, name: str) -> int:
    return next(cell.column for cell in sheet[1] if cell.value == name)


def test_a_workbook_filled_in_comes_back(lab: ccgbo.Study, tmp_path: Path) -> None:
    path = tmp_path / "lab.xlsx"
    assert export_study(lab, path) == 5
    before = lab.trials

    def fill_in(sheet: Any) -> None:
        value, t, stirred, n = (column(sheet, c) for c in ("value", "params_t", "params_stirred", "params_n"))
        assert sheet.cell(2, t).value == before[0].params["t"]  # numbers are numbers
        assert sheet.cell(2, stirred).value is before[0].params["stirred"]
        sheet.cell(5, value).value = 0.5
        sheet.cell(6, value).value = 7
        sheet.cell(6, t).value = 71.2
        sheet.cell(6, n).value = 5.0
        sheet.cell(40, t).value = " "  # somebody was there
        sheet.cell(1, 60).value = None

    edited(path, fill_in)
    plan = import_file(lab, path)
    assert str(plan) == ("told 2 pending trials (1 with other settings than asked), skipped 3 unchanged, added 0 new")
    assert lab.trials[:3] == before[:3]
    assert lab.trials[3] == before[3].with_outcome(state="complete", value=0.5)
    assert lab.trials[4].params == before[4].params | {"t": 71.2, "n": 5}
    after = lab.trials
    assert import_file(lab, path).unchanged == (1, 2, 3, 4, 5)
    assert lab.trials == after


def test_what_excel_made_a_date_of_is_refused_by_name(lab: ccgbo.Study, tmp_path: Path) -> None:
    path = tmp_path / "lab.xlsx"
    export_study(lab, path)
    edited(
        path, lambda sheet: sheet.cell(5, column(sheet, "value")).__setattr__("value", datetime.datetime(2026, 5, 2))
    )
    with pytest.raises(
        ccgbo.TellError, match=r"^row 4: value must be a number, but the spreadsheet has made the date 2026"
    ):
        import_file(lab, path)


def test_a_workbook_by_hand_is_understood(lab: ccgbo.Study, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["id", "value", "note", None],
        [3, "#N/A", None, None],
        [4, "0,25", datetime.datetime(2026, 5, 2), None],
        [None, None, None, None],
    ):
        sheet.append(row)
    book.create_sheet("remarks").append(["anything"])
    book.save(tmp_path / "hand.xlsx")
    plan = import_file(lab, tmp_path / "hand.xlsx")
    assert (len(plan.told), plan.open) == (1, (1,))
    assert lab.trials[4].value == 0.25
    assert lab.trials[4].attributes == {"note": "2026-05-02T00:00:00"}


def test_numbers_and_switches_stand_for_choices_that_are_texts(tmp_path: Path) -> None:
    """Excel makes numbers of what looks like them."""
    with ccgbo.Study(tmp_path / "s.db", {"c": ["7", "x"], "d": ["true", "x"]}) as study:
        book = openpyxl.Workbook()
        for row in (["c", "d", "value"], [7, True, 1], [7.0, "TRUE", 2]):
            book.active.append(row)
        book.save(tmp_path / "t.xlsx")
        import_file(study, tmp_path / "t.xlsx")
        (tmp_path / "t.csv").write_text("c,d,value\n7.0,TRUE,3\n")
        import_file(study, tmp_path / "t.csv")
        assert [dict(t.params) for t in study.trials] == [{"c": "7", "d": "true"}] * 3


def test_no_cell_of_a_workbook_is_a_formula(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", {"c": ["=1+1", "b"]}) as study:
        study.tell({"c": "=1+1"}, failed=True, error="=cmd|'/C calc'!A0")
        study.tell({"c": "b"}, failed=True, error="long\r\n" * 20_000)
        export_study(study, tmp_path / "s.xlsx")
        sheet = openpyxl.load_workbook(tmp_path / "s.xlsx").active
        assert {cell.data_type for row in sheet.iter_rows(min_row=2) for cell in row} <= {"s", "n", "b"}
        assert import_file(study, tmp_path / "s.xlsx").unchanged == (1, 2)


def test_what_is_no_workbook_is_refused(lab: ccgbo.Study, tmp_path: Path) -> None:
    for data in (b"no zip", b"PK\x05\x06" + bytes(18)):
        (tmp_path / "bad.xlsx").write_bytes(data)
        with pytest.raises(ccgbo.SettingError, match=r"bad\.xlsx' is not valid xlsx: it is no workbook"):
            import_file(lab, tmp_path / "bad.xlsx")
    book = openpyxl.Workbook()
    out = io.BytesIO()
    book.save(out)
    (tmp_path / "empty.xlsx").write_bytes(out.getvalue())
    assert str(import_file(lab, tmp_path / "empty.xlsx")) == "told 0 pending trials, skipped 0 unchanged, added 0 new"


def test_without_openpyxl_the_extra_is_named(lab: ccgbo.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"an Excel file needs .* pip install 'ccgbo\[excel\]'"):
        export_study(lab, tmp_path / "lab.xlsx")
    assert not (tmp_path / "lab.xlsx").exists()
    assert to_csv(lab)
