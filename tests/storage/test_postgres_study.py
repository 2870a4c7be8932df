"""A study in PostgreSQL from Python, the command line and the dashboard, and what nobody may read there."""

from __future__ import annotations

import http.client
import json
import logging
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo import SettingError, StorageError, StudyNotFoundError
from ccgbo.cli import main
from ccgbo.storage import Address, open_store, place_at
from ccgbo.study.moving import move_study
from ccgbo.viz import write_report

from .postgres_server import PASSWORD, USER, PostgresServer

pytestmark = pytest.mark.heavy
SPACE = {"x": (0.0, 1.0), "kind": ["a", "b"]}


def f(x: float, kind: str) -> float:
    return (x - 0.3) ** 2 + (kind == "b")


def used_study(path: Path | str) -> ccgbo.Study:
    """Twelve trials, one that somebody evaluates by hand, one enqueued, and a log."""
    study = ccgbo.Study(path, SPACE, name="s", direction="minimize", seed=3)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, f(**trial.params), note="caf\u00e9 \0")
    study.ask()
    study.enqueue({"x": 0.5, "kind": "a"}, note="mine")
    study.drop(3, note="oven")
    return study


def test_a_study_in_a_database_suggests_what_one_in_a_file_does(database: str, tmp_path: Path) -> None:
    with used_study(database) as here, used_study(tmp_path / "s.db") as there:
        assert here.trials == there.trials
        assert [here.ask(fixed={"kind": "a"}) for _ in range(3)] == [there.ask(fixed={"kind": "a"}) for _ in range(3)]
        assert [e.action for e in here.log()] == [e.action for e in there.log()]


def test_a_study_moves_into_a_database_and_back_and_the_next_ask_is_the_same(database: str, tmp_path: Path) -> None:
    with used_study(tmp_path / "s.db") as study:
        before = study.records(), study.log()
    assert move_study(tmp_path / "s.db", database) == "s"
    with ccgbo.Study(database) as study:
        assert (study.records(), study.log()) == before
        asked = [study.ask() for _ in range(2)]
    move_study(database, tmp_path / "back.db")
    with pytest.raises(StudyNotFoundError, match="has no study"):
        ccgbo.Study(database)
    with ccgbo.Study(tmp_path / "back.db") as study, used_study(tmp_path / "twin.db") as twin:
        assert asked + [study.ask() for _ in range(2)] == [twin.ask() for _ in range(4)]


def test_a_pickled_and_a_forked_study_have_connections_of_their_own(database: str) -> None:
    with used_study(database) as study:
        with pickle.loads(pickle.dumps(study)) as copy:
            assert copy.trials == study.trials
        child = os.fork()
        if child == 0:
            os._exit(0 if len(study.trials) == 14 and study.ask().id is not None else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert study.ask().id == 14  # 13 was enqueued and the child has it


def test_a_run_evaluates_in_a_pool_of_processes(database: str) -> None:
    with ccgbo.Study(database, SPACE, direction="minimize", seed=1) as study, ProcessPoolExecutor(2) as pool:
        result = study.run(f, 8, executor=pool, progress=False)
        assert len(result.trials) == 8
        assert {trial.state for trial in study.trials} == {"complete"}


# -- tables


def test_tables_are_made_on_first_use_by_whoever_comes_first_and_not_by_a_look(database: str) -> None:
    with pytest.raises(StudyNotFoundError, match="has no study yet"):
        ccgbo.list_studies(database)
    made: list[Any] = []
    threads = [threading.Thread(target=lambda: made.append(open_store(database, create=True))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.names() for store in made] == [[]] * 4
    for store in made:
        store.close()


@pytest.mark.parametrize(("version", "said"), [(99, "a newer ccgbo"), (0, "an older ccgbo")])
def test_tables_of_another_version_are_refused(database: str, server: PostgresServer, version: int, said: str) -> None:
    used_study(database).close()
    server.sql(database, f"UPDATE ccgbo_version SET version = {version}")
    with pytest.raises(StorageError, match=said):
        ccgbo.Study(database)


def test_who_may_only_read_can_look_and_is_told_why_it_cannot_write(database: str, server: PostgresServer) -> None:
    used_study(database).close()
    user = f"reader_{database.partition('@/')[2].partition('?')[0]}"
    server.sql(database, f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'")
    server.sql(database, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")
    with ccgbo.Study(database.replace(f"{USER}:", f"{user}:")) as study:
        assert len(study.trials) == 14
        with pytest.raises(StorageError, match="this user may only read"):
            study.tell(12, 1.0)


def test_a_damaged_cell_is_named(database: str, server: PostgresServer) -> None:
    used_study(database).close()
    server.sql(database, "UPDATE ccgbo_trials SET params = '{' WHERE id = 4")
    with ccgbo.Study(database) as study, pytest.raises(StorageError, match="study 's', trial 4, column params"):
        study.trials  # noqa: B018


# -- the command line and the dashboard


@pytest.fixture
def command_line(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints, on both streams."""

    def call(*arguments: str | Path, code: int = 0) -> str:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        said = "".join(capfd.readouterr())
        assert exit_.value.code == code, said
        return said

    return call


def test_commands_take_an_address_and_never_print_its_password(
    database: str, tmp_path: Path, command_line: Callable[..., str]
) -> None:
    (tmp_path / "space.toml").write_text('[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n')
    shown = str(place_at(database))
    said = [
        command_line("init", database, "--space", tmp_path / "space.toml", "--minimize", "--name", "s", "--seed", "1"),
        command_line("run", database, "-n", "4", "--quiet", "--", "echo", "{x}"),
        command_line("ask", database),
        command_line("tell", database, "4", "0.5", "--note", "by hand"),
        command_line("tell", database, "77", "0.5", code=1),
        command_line("drop", database, "2"),
        command_line("list", database),
        command_line("show", database),
        command_line("show", database, "--name", "other", code=1),
        command_line("log", database),
        command_line("export", database, tmp_path / "trials.csv"),
        command_line("report", database, "-o", tmp_path / "report.html"),
        command_line("move", database, tmp_path / "s.db", "--as", "t"),
        command_line("move", tmp_path / "s.db", database),
        command_line("--debug", "list", database.replace(PASSWORD, PASSWORD + "x"), code=1),
        command_line("delete", database, "--name", "t", "--yes"),
    ]
    assert not [text for text in said if PASSWORD in text]
    assert f"created study 's' in {shown}" in said[0]
    assert f"in {shown}: minimize, 5 trials" in said[7]
    assert f"moved study 's' from {shown}" in said[12].replace("'t'", "'s'")
    assert "password authentication failed" in said[14]
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert PASSWORD not in report
    assert "postgresql://" in report


def test_the_dashboard_follows_a_database_and_shows_no_password(database: str) -> None:
    used_study(database).close()
    command = [sys.executable, "-m", "ccgbo", "dashboard", database, "--port", "0"]
    seen = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            assert running.stdout is not None
            line = running.stdout.readline()
            found = re.search(r"127\.0\.0\.1:(\d+)/\?token=(\S+)", line)
            assert found is not None, line
            seen += line

            def get(path: str) -> Any:
                connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
                connection.request("GET", path, headers={"Authorization": f"Bearer {found[2]}"})
                text = connection.getresponse().read().decode()
                connection.close()
                nonlocal seen
                seen += text
                return json.loads(text)

            assert [info["name"] for info in get("/api/studies")["studies"]] == ["s"]
            assert len(get("/api/study?study=s")["trials"]["id"]) == 14
            version = get("/api/pulse?study=s")["revision"]
            with ccgbo.Study(database) as study:
                study.tell(12, 0.5)
            while get("/api/pulse?study=s")["revision"] == version:
                threading.Event().wait(0.1)
            get("/api/study?study=s")
            while "credits" not in json.dumps(get("/api/analysis?study=s")):
                get("/api/pulse?study=s")
                threading.Event().wait(0.2)
            assert "has no study 'other'" in get("/api/study?study=other")["error"]
            get("/api/reproduction?study=s")
            children = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True).stdout
            seen += "\n".join(row for row in children.splitlines() if row.split()[0] == str(running.pid))
        finally:
            running.terminate()
            seen += running.communicate(timeout=30)[0]
    assert PASSWORD not in seen


def test_the_array_job_of_the_cluster_page_does_the_work_of_one_study(database: str) -> None:
    """As Slurm would start it: the same script, with another number in each process."""
    examples = Path(__file__).parents[2] / "examples"
    given = os.environ | {
        "STUDY": database,
        "TRIALS": "12",
        "OMP_NUM_THREADS": "1",
        "SLURM_ARRAY_JOB_ID": "7",
        "PYTHON": sys.executable,
    }
    tasks = [
        subprocess.Popen(
            ["bash", str(examples / "cluster.sbatch")],
            cwd=examples,
            env=given | {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_SUBMIT_DIR": str(examples)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for task in range(2)
    ]
    said = [task.communicate(timeout=300)[0] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], said
    assert all("12 trials" in text for text in said), said
    assert not any(PASSWORD in text for text in said)
    with ccgbo.Study(database, name="branin") as study:
        assert [trial.state for trial in study.trials] == ["complete"] * 12
        assert study.best_trial is not None


# -- passwords


def test_nothing_that_is_read_has_the_password(
    database: str, server: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), used_study(database) as study:
        server.restart()
        study.tell(12, 1.0)
        said = [repr(study), str(study.path), repr(study.path), study.path.name, f"{study.path}"]
        said += [repr(study.result()), write_report(study, tmp_path / "r.html").read_text(encoding="utf-8")]
        said += [repr(vars(study)), repr(study._store), repr(vars(study._store))]
        for wrong in (
            lambda: ccgbo.Study(database, name="x"),
            lambda: study.tell(99, 1.0),
            lambda: study.tell(12, 1.0),
        ):
            with pytest.raises(ccgbo.CcgboError) as caught:
                wrong()
            said.append(str(caught.value))
        study.close()
        with pytest.raises(StorageError, match="was closed") as caught:
            study.ask()
        said += [str(caught.value), caplog.text]
    assert not [text for text in said if PASSWORD in text]
    assert os.fspath(study.path) == database


SECRET = "Hidden-1"


@pytest.mark.parametrize(
    ("full", "shown"),
    [
        ("postgresql://u:Hidden-1@h:5432/db", "postgresql://u@h:5432/db"),
        ("postgres://u:Hidden-1@h1:1,h2:2/db?sslmode=require", "postgres://u@h1:1,h2:2/db?sslmode=require"),
        ("postgresql:///db?host=/tmp&user=u&password=Hidden-1", "postgresql:///db?host=/tmp&user=u"),
        ("postgresql://h/db?sslpassword=Hidden-1&pass%77ord=Hidden-1", "postgresql://h/db"),
        ("postgresql://u:Hidden-1@x/y@h/db", "postgresql://u@h/db"),
        ("postgresql://u:Hid@den-1Hidden-1?z@h/db", "postgresql://u@h/db"),
        ("postgresql://u:Hidden-1", "postgresql://u"),
        ("postgresql://u:Hidden-1/db", "postgresql://u"),
        ("POSTGRESQL://u:Hidden-1@h/db", "POSTGRESQL://u@h/db"),
    ],
)
def test_an_address_is_shown_without_its_secrets(full: str, shown: str) -> None:
    address = place_at(full)
    assert isinstance(address, Address)
    assert (str(address), os.fspath(address)) == (shown, full)
    assert SECRET not in f"{address} {address!r} {address.name}"
    with pytest.raises(StorageError) as caught:
        ccgbo.Study(full + "?connect_timeout=1" if "?" not in full else full, name="s")
    assert "Hid" not in str(caught.value)


def test_an_address_that_lost_a_slash_is_refused() -> None:
    with pytest.raises(StorageError, match="path must be a text") as caught:
        ccgbo.Study(Path(f"postgresql://u:{SECRET}@h/db"))
    assert SECRET not in str(caught.value)


def test_moving_onto_itself_is_refused(database: str) -> None:
    with pytest.raises(SettingError, match="target must be another") as caught:
        move_study(database, database)
    assert PASSWORD not in str(caught.value)
