"""What is done by hand over HTTP: the same rules as in Python, in the file, and in the log."""

from __future__ import annotations

import http.client
import io
import json
import random
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from openpyxl import Workbook, load_workbook

from ccgbo import Float, LinearConstraint
from ccgbo.study import Study
from ccgbo.viz.dashboard import tables
from ccgbo.viz.dashboard.analyst import analyse

from .conftest import Client, serving
from .test_dashboard import POINT, states
from .test_report import HOSTILE, hostile_study


@pytest.fixture
def page(dashboard: Client) -> Page:
    return Page(dashboard)


class Page:
    """Posts to one study that must be taken."""

    def __init__(self, client: Client, study: str = "net") -> None:
        self.client, self.study = client, study

    def does(self, action: str, **fields: Any) -> Any:
        status, answer = self.client.post(f"/api/{action}", {"study": self.study, **fields})
        assert status == 200, answer
        return answer

    def refuses(self, action: str, **fields: Any) -> str:
        status, answer = self.client.post(f"/api/{action}", {"study": self.study, **fields})
        assert status == 400, answer
        return str(answer["error"])

    def brings(self, data: bytes, name: str = "back.csv", **query: str) -> tuple[int, Any]:
        fields = "&".join(f"{key}={value}" for key, value in {"study": self.study, "name": name, **query}.items())
        return self.client.post(f"/api/import?{fields}", data)


# -- trials


def test_several_points_are_asked_with_a_parameter_held(page: Page, study_path: Path) -> None:
    asked = page.does("ask", n=3, fixed={"kind": "tanh", "layers": 2})["trials"]
    assert asked == [14, 15, 16]
    with Study(study_path) as study:
        assert all((t.params["kind"], t.params["layers"]) == ("tanh", 2) for t in study.trials[14:])
    assert page.refuses("ask", n=21) == "n must be a whole number from 1 to 20, got 21."
    assert "layers" in page.refuses("ask", fixed={"layers": 99})


def test_readings_errors_settings_notes_and_tags_are_told(page: Page, study_path: Path) -> None:
    answer = page.does("tell", trial=13, value=[0.5, 0.75], params={"dropout": 0.7}, note="warm", tags=["repeat"])
    assert (answer["value"], "dropout must be in [0.0, 0.6]" in answer["outside"]) == (0.625, True)
    other = page.does("ask")["trials"][0]
    page.does("tell", trial=other, value=0.5, standard_error=0.25)
    point = page.does("tell", params=POINT, value=[1.0, 2.0], note="elsewhere")["trial"]
    with Study(study_path) as study:
        told = study.trials
        assert (told[13].readings, told[13].params["dropout"]) == ((0.5, 0.75), 0.7)
        assert told[13].attributes == {"note": "warm", "tags": ["repeat"]}
        assert told[other].noise_variance == 0.0625
        assert (told[point].readings, told[point].attributes) == ((1.0, 2.0), {"note": "elsewhere"})
        assert [(e.action, e.trial_id) for e in study.log()] == [("tell", 13)]  # with other settings than asked


def test_what_was_told_is_amended_dropped_restored_and_annotated(
    page: Page, study_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCGBO_USER", "kim")
    page.does("amend", trial=1, value=0.5, note="a typo")
    page.does("amend", trial=2, failed=True, reason="spilt")
    page.does("amend", trial=3, params={"layers": 8})
    page.does("drop", trial=4, note="old batch")
    page.does("drop", trial=6)
    page.does("restore", trial=6)
    page.does("annotate", trial=7, note="warm", tags=["a", "b"])
    page.does("annotate", trial=7, note="")
    with Study(study_path) as study:
        told = study.trials
        assert (told[1].value, told[1].attributes) == (0.5, {"note": "a typo"})
        assert (told[2].state, told[2].error) == ("failed", "spilt")
        assert told[3].params["layers"] == 8
        assert (told[4].dropped, told[6].dropped, told[7].attributes) == (True, False, {"tags": ["a", "b"]})
        log = study.log()
    assert [e.action for e in log] == ["amend"] * 3 + ["drop"] * 2 + ["restore"] + ["annotate"] * 2
    assert {e.who for e in log} == {"kim"}
    assert log[3].note == "old batch"


def test_a_pending_trial_is_given_back_or_abandoned_and_one_is_put_in_line(page: Page, study_path: Path) -> None:
    assert page.does("release", trial=13) == {"trial": 13, "released": True}
    assert page.does("release", trial=13)["released"] is False
    mine = page.does("enqueue", params=POINT, note="worked in the old reactor")["trial"]
    assert page.does("ask", n=2)["trials"] == [mine, 13]
    page.does("abandon", trial=13, note="the bottle broke")
    with Study(study_path) as study:
        assert (study.trials[13].state, study.trials[mine].origin) == ("abandoned", "enqueued")
        assert study.log()[-1].note == "the bottle broke"
    assert page.does("amend", trial=13, value=0.5)["state"] == "complete"


def test_what_was_done_by_hand_is_in_what_the_page_gets(page: Page) -> None:
    version = page.client.get("/api/study?study=net")[1]["revision"]
    page.does("amend", trial=1, value=[0.5, 0.75], note="a typo", tags=["x"])
    page.does("drop", trial=1)
    page.does("tell", trial=13, value=0.5, standard_error=0.25)
    changes = page.client.get(f"/api/study?study=net&since={version}")[1]
    trials, log = changes["trials"], changes["log"]
    assert (trials["id"], trials["dropped"], trials["readings"]) == ([1, 13], {"1": True}, {"1": [0.5, 0.75]})
    assert (trials["note"], trials["tags"], trials["standard_error"]) == ({"1": "a typo"}, {"1": ["x"]}, {"13": 0.25})
    assert (log["count"], [e["action"] for e in log["events"]]) == (2, ["drop", "amend"])
    assert "note a typo" in log["events"][1]["changes"]


# -- the space


def test_a_bound_is_looked_at_and_then_changed(page: Page, study_path: Path) -> None:
    edit = {"parameters": {"dropout": {"high": 1}, "kind": {"choices": ["relu", "tanh", "gelu", "silu"]}}}
    before = states(study_path)
    said = page.does("change", **edit, dry_run=True)["sentences"]
    assert "dropout: widened from [0.0, 0.6] to [0.0, 1.0]." in said
    assert states(study_path) == before
    version = page.client.get("/api/pulse?study=net")[1]["revision"]
    assert page.does("change", **edit)["sentences"] == said
    now = page.client.get("/api/pulse?study=net")[1]["revision"]
    assert now.split(".")[0] != version.split(".")[0]  # a page gets everything anew
    found = page.client.get(f"/api/study?study=net&since={version}")[1]
    assert (found["since"], found["parameters"][3]["high"], len(found["trials"]["id"])) == (None, 1.0, 14)
    assert found["log"]["events"][0]["action"] == "change space"


def test_nothing_is_kept_of_the_analysis_of_another_space(study_path: Path) -> None:
    """Its parameters may be gone."""
    first = next(analyse(study_path, "net", {"over_time": "old", "space": 1}))
    assert "over_time" not in first


def test_parameters_that_come_and_go_are_asked_for_by_name(page: Page, study_path: Path) -> None:
    toml = page.client.get("/api/space?study=net")[1]["toml"]
    new = (
        toml.replace('[parameters."layers"]', '[parameters."depth"]')
        + '\n[parameters."speed"]\ntype = "int"\nlow = 1\nhigh = 9\n'
    )
    answer = page.does("change", toml=new, dry_run=True)
    assert (answer["added"], answer["removed"]) == (["depth", "speed"], ["layers"])
    assert answer["open"] == ["layers", "depth", "speed"]
    answers: dict[str, Any] = {"toml": new, "rename": {"layers": "depth"}, "defaults": {"speed": "3"}}
    said = page.does("change", **answers, dry_run=True)
    assert said["open"] == []
    assert "layers: renamed to depth." in said["sentences"]
    page.does("change", **answers)
    with Study(study_path) as study:
        assert all(t.params["speed"] == 3 for t in study.trials)
        assert list(study.space) == ["rate", "depth", "kind", "dropout", "speed"]
    assert "defaults['speed'] must be a number, got 'x'" in page.refuses(
        "change", toml=toml + new[len(toml) :], defaults={"speed": "x"}
    )


def test_a_space_without_toml_says_why(tmp_path: Path) -> None:
    Study(tmp_path / "t.db", {"x": Float(0.0, 1.0), "c": [None, "a"]}, name="net", seed=0).close()
    with serving(tmp_path / "t.db") as client:
        assert "TOML has no null" in client.get("/api/space?study=net")[1]["why"]
        said = Page(client).does("change", parameters={"x": {"high": 2}})["sentences"]
        assert said == ["x: widened from [0.0, 1.0] to [0.0, 2.0]."]


def test_constraints_stay_when_a_bound_is_edited(tmp_path: Path) -> None:
    rule = LinearConstraint({"x": 1.0, "y": 1.0}, upper=1.5)
    Study(tmp_path / "t.db", {"x": (0.0, 1.0), "y": (0.0, 1.0)}, constraint=rule, name="net", seed=0).close()
    with serving(tmp_path / "t.db") as client:
        Page(client).does("change", parameters={"x": {"high": 2}})
    with Study(tmp_path / "t.db") as study:
        assert len(study.space.constraints) == 1


# -- spreadsheets


def test_a_spreadsheet_goes_out_and_comes_back(page: Page, study_path: Path) -> None:
    status, headers, text = page.client.request("GET", "/api/export?study=net&format=csv")
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="net.csv"')
    rows = text.splitlines()
    assert len(rows) == 15
    _, _, european = page.client.request("GET", "/api/export?study=net&format=semicolon")
    assert ";" in european.splitlines()[0]
    with Study(study_path) as study:
        was = study.trials[0].value
    back = "id;value\n0;9,5\n13;0,5\n;\n".encode("utf-8-sig")
    before = states(study_path)
    _, plan = page.brings(back, dry_run="true")
    assert (plan["told"], plan["changed"], plan["refused"]) == (1, 1, 0)
    assert plan["lines"] == [f"row 1, trial 0: value {was} -> 9.5"]
    assert states(study_path) == before
    assert page.brings(back)[1]["summary"].startswith("told 1 pending trial")
    assert page.brings(back, amend="true")[1]["summary"].endswith("amended 1 changed")
    with Study(study_path) as study:
        assert (study.trials[0].value, study.trials[13].value) == (9.5, 0.5)


def test_a_workbook_goes_out_and_comes_back(page: Page, study_path: Path) -> None:
    line = http.client.HTTPConnection("127.0.0.1", page.client.port, timeout=30)
    line.request("GET", "/api/export?study=net&format=xlsx", headers=page.client.bearer)
    book = load_workbook(io.BytesIO(line.getresponse().read()))
    line.close()
    sheet = book.active
    column = [cell.value for cell in sheet[1]].index("value") + 1
    sheet.cell(row=15, column=column, value=0.5)
    data = io.BytesIO()
    book.save(data)
    assert page.brings(data.getvalue(), "back.xlsx")[1]["told"] == 1
    with Study(study_path) as study:
        assert study.trials[13].value == 0.5


def damaged_books() -> Iterator[bytes]:
    data = io.BytesIO()
    book = Workbook()
    book.active.append(["id", "value"])
    book.active.append([13, 0.5])
    book.save(data)
    whole = data.getvalue()
    yield whole[:100]
    yield b"PK\x03\x04" + bytes(50)
    for name in ("xl/worksheets/sheet1.xml", "xl/workbook.xml", "[Content_Types].xml"):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w") as new:
            for part in old.namelist():
                new.writestr(part, b"<broken" if part == name else old.read(part))
        yield out.getvalue()


def test_files_that_are_no_tables_are_refused_in_words(
    page: Page, study_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = states(study_path)
    cases: list[tuple[bytes, str, dict[str, str]]] = [
        (b"id,value\n13,0.5\n", "back.exe", {}),
        (b"id,value\n13,0.5\n", "", {}),
        (b"id,value\n13,0.5\n", "a.json", {}),
        (b"id,value\n13,0.5\n", "a.csv", {"amend": "yes"}),
        (b"id,value,value\n", "a.csv", {}),
        (b"id,value\n99,0.5\n", "a.csv", {}),
        (b"\xff\xfe\x00", "a.csv", {}),
        (b"what,ever\n1,2\n", "a.csv", {}),
        *((data, "a.xlsx", {}) for data in damaged_books()),
    ]
    for data, name, query in cases:
        status, answer = page.brings(data, name, **query)
        assert status == 400, (data[:40], answer)
        assert "/" not in answer["error"].replace("xl/", "").replace("n/a", ""), answer
    assert page.brings(b"id,value\n" * 700_000)[0] == 413
    monkeypatch.setattr(tables, "LARGEST_BOOK", 1000)
    book = io.BytesIO()
    Workbook().save(book)
    assert "the workbook is too large" in page.brings(book.getvalue(), "a.xlsx")[1]["error"]
    assert "format must be csv, semicolon or xlsx" in page.client.get("/api/export?study=net&format=pdf")[1]["error"]
    assert states(study_path) == before


def test_an_upload_may_be_larger_than_a_form(page: Page) -> None:
    rows = b"id,value\n13,0.5\n" + b",\n" * 100_000
    assert page.brings(rows, dry_run="true")[0] == 200


# -- whatever is sent

JUNK: list[Any] = [
    None, True, False, 0, -1, 13, 1.5, 1e308, "", "x", "13", "net", "\u2028<b>", [], [1, "a"], [[1]], {}, {"a": 1},
    {"rate": [1]}, {"rate": None}, {"layers": 2.5}, {"kind": {}}, {"kind": "\x00"}, {"rate": "x"}, {"": ""},
    {"layers": {"low": None}}, {"layers": {"high": []}}, {"kind": {"choices": "x"}}, {"kind": {"choices": [[1]]}},
    {"kind": {"choices": []}}, {"rate": {"low": -1}}, {"rate": {"low": 1e999}}, {"layers": {"high": 1e300}},
    "[parameters]\nx = 1979-05-27", "[parameters]\nx = [1, 'a']\n[[constraints]]\nx = 1", "parameters = 1",
    "[parameters.x]\ntype = 'float'\nlow = nan\nhigh = inf", "[parameters.x]\nchoices = [1]\nactive_if = 3",
    "[parameters.x]\nchoices = [1]\nactive_if = { y = [1] }", "[[constraints]]", "x" * 1000,
]  # fmt: skip
FIELDS = ["trial", "value", "standard_error", "params", "note", "tags", "reason", "failed", "n", "fixed", "parameters"]
FIELDS += ["toml", "defaults", "rename", "marginal", "dry_run"]
ALL = ["ask", "tell", "fail", "amend", "drop", "restore", "abandon", "release", "annotate", "enqueue", "change"]


def test_whatever_is_sent_is_done_or_refused_and_never_an_error_of_the_server(page: Page) -> None:
    rng = random.Random(0)
    for _ in range(400):
        action = rng.choice([a for a in ALL if a != "ask"])
        fields = {name: rng.choice(JUNK) for name in rng.sample(FIELDS, rng.randint(0, 5))}
        if rng.random() < 0.7:
            fields["trial"] = rng.randint(0, 14)
        status, answer = page.client.post(f"/api/{action}", json.dumps({"study": "net", **fields}).encode())
        assert status in (200, 400), (action, fields, answer)
        assert str(Path.cwd().anchor + "tmp") not in str(answer), answer
    for fields in ({"n": n, "fixed": f} for n in (None, 0, 1.0, "1", 10**30) for f in JUNK):
        assert page.refuses("ask", **fields).startswith("n must be")
    for fixed in JUNK:
        if fixed in (None, {}):
            continue
        assert page.refuses("ask", fixed=fixed)
    assert page.does("annotate", trial=0, note="still there")["trial"] == 0


FIELD_NAMED = [
    ("tell", {"trial": 13, "value": []}, "value must be a finite number or a list of them, got []"),
    ("tell", {"trial": 13, "value": [1, "2"]}, "value must be a finite number or a list of them"),
    ("tell", {"trial": 13, "value": 1, "standard_error": -1}, "standard_error must be a finite number >= 0, got -1"),
    ("tell", {"trial": 13, "value": [1, 2], "standard_error": 1}, "standard_error must be left out"),
    ("tell", {"trial": 13, "value": 1, "note": 7}, "note must be a text, got 7"),
    ("tell", {"trial": 13, "value": 1, "tags": "a"}, "tags must be a list of texts, got 'a'"),
    ("tell", {"trial": 13, "value": 1, "params": {"depth": 1}}, "depth"),
    ("amend", {"trial": 0, "value": 1, "failed": True}, "value must be left out where failed is true"),
    ("amend", {"trial": 0, "failed": 1}, "failed must be true or false, got 1"),
    ("amend", {"trial": 13, "value": 1}, "trial 13 is pending"),
    ("drop", {"trial": None}, "trial must be a trial's id, got None"),
    ("restore", {"trial": 0}, "not dropped"),
    ("abandon", {"trial": 0}, "trial 0 is complete: drop it"),
    ("release", {"trial": 0}, "only a pending trial can be released"),
    ("annotate", {"trial": 0}, "note or tags must be given"),
    ("enqueue", {"params": {"rate": 0.1}}, "layers"),
    ("enqueue", {}, "params must be an object, got None"),
    ("change", {}, "parameters or toml must be given"),
    ("change", {"parameters": {"depth": {"low": 1}}}, "parameters: the space has no 'depth'"),
    ("change", {"parameters": {"layers": {"log": True}}}, "parameters['layers'] must be an object with low, high or"),
    ("change", {"parameters": {"layers": {"low": 9}}}, "layers"),
    ("change", {"toml": "x ="}, "not valid TOML"),
    ("change", {"toml": 3}, "toml must be a non-empty text, got 3"),
    ("change", {"toml": "[parameters]\nx = [0.0, 1.0]\n", "rename": {"rate": 3}}, "rename['rate'] must be a text"),
]


def test_a_refusal_names_the_field(page: Page, study_path: Path) -> None:
    before = states(study_path)
    for action, fields, words in FIELD_NAMED:
        assert words in page.refuses(action, **fields), (action, fields)
    assert states(study_path) == before


def test_hostile_texts_come_back_as_data(tmp_path: Path) -> None:
    hostile_study(tmp_path / "h.db").close()
    with serving(tmp_path / "h.db") as client:
        page = Page(client, HOSTILE[3])
        page.does("annotate", trial=0, note=HOSTILE[0], tags=HOSTILE[1:3])
        page.does("drop", trial=0, note=HOSTILE[2])
        _, headers, _ = client.request("GET", f"/api/export?study={quote(HOSTILE[3], safe='')}")
        assert re.fullmatch(r'attachment; filename="[\w.-]+\.csv"', headers["content-disposition"], re.ASCII)
        assert headers["content-type"].startswith("text/csv")
        found = client.get(f"/api/study?study={quote(HOSTILE[3], safe='')}")[1]
        assert found["trials"]["note"] == {"0": HOSTILE[0]}
