"""A study open in a notebook, and terminals beside it. Whatever was told is there, also after kill -9."""

from __future__ import annotations

import json

import pytest

from .desk import Desk, Notebook, kill9

OPEN = "import ccgbo\nspace = {'x': (0.0, 1.0)}\nstudy = ccgbo.Study('lab.db', space, direction='minimize', seed=0)"
TELL = "trial = study.ask()\nstudy.tell(trial, {value})\nprint(trial.id)"


def tell(notebook: Notebook, value: float) -> tuple[int, float]:
    return int(notebook.cell(TELL.format(value=value))), value


def tell_by_hand(desk: Desk, value: float) -> tuple[int, float]:
    trial = json.loads(desk.does("ccgbo ask lab.db --json"))["id"]
    desk.does(f"ccgbo tell lab.db {trial} {value}")
    return trial, value


@pytest.fixture
def notebook(desk: Desk) -> Notebook:
    notebook: Notebook = desk.notebook()
    notebook.cell(OPEN)
    return notebook


def test_a_killed_kernel_loses_nothing_that_it_told(desk: Desk, notebook: Notebook) -> None:
    told = [tell(notebook, value) for value in (3.0, 2.0, 1.0)]
    notebook.cell("ccgbo.list_studies('lab.db')")
    assert "3 trials" in desk.does("ccgbo show lab.db")
    told += [tell(notebook, 10.0 + i) for i in range(5)]
    kill9(notebook)
    assert desk.values("lab.db") == dict(told)


def test_the_notebook_and_the_terminal_never_get_the_same_trial(desk: Desk, notebook: Notebook) -> None:
    told = [tell(notebook, value) for value in (3.0, 2.0, 1.0)]
    notebook.cell("ccgbo.list_studies('lab.db')")
    desk.does("ccgbo show lab.db")
    for i in range(2):
        told.append(tell(notebook, 10.0 + i))
        told.append(tell_by_hand(desk, 90.0 + i))
    notebook.cell("study.close()")
    assert desk.values("lab.db") == dict(told)
    assert len(dict(told)) == len(told)  # no id twice


def test_every_cell_may_be_run_twice_and_a_run_beside_it_too(desk: Desk, notebook: Notebook) -> None:
    told = [tell(notebook, 5.0)]
    notebook.cell(OPEN)  # the first cell again: a second Study on the file, the first one is forgotten
    told.append(tell(notebook, 6.0))
    notebook.cell("result = ccgbo.minimize(lambda x: 100 + x, space, 6, study='lab.db', progress=False, seed=0)")
    assert "6 " in desk.does("ccgbo list lab.db")
    told.append(tell_by_hand(desk, 7.0))
    told += [tell(notebook, 20.0 + i) for i in range(4)]
    assert notebook.cell("print(len(study.trials))").strip() == "11"
    kill9(notebook)
    values = desk.values("lab.db")
    assert len(values) == 11
    assert dict(told).items() <= values.items()
    assert sum(value >= 100 for value in values.values()) == 4


def test_the_notebook_sees_what_the_terminal_tells(desk: Desk, notebook: Notebook) -> None:
    tell(notebook, 5.0)
    notebook.cell("ccgbo.list_studies('lab.db')")
    told = [tell_by_hand(desk, value) for value in (4.0, 3.0)]
    seen = json.loads(notebook.cell("import json\nprint(json.dumps([t.value for t in study.trials]))"))
    assert seen == [5.0, *(value for _, value in told)]


RUN = """
try:
    print(study.run(lambda x: x, 5, progress=False))
except ccgbo.CcgboError as error:
    print("error:", error)
"""


def test_a_run_on_a_file_that_was_deleted_is_no_success(desk: Desk, notebook: Notebook) -> None:
    tell(notebook, 5.0)
    (desk.folder / "lab.db").unlink()
    said = notebook.cell(RUN)
    assert said.startswith("error:"), said
    assert "lab.db" in said
