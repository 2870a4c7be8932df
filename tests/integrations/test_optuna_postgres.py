"""Several worker processes on one study in PostgreSQL: a real server, made, started and stopped here."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from .pages import ROOT

pytestmark = pytest.mark.heavy


def server_programs() -> Path:
    """Where initdb and pg_ctl are; Debian keeps them out of PATH."""
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    pytest.fail("PostgreSQL's initdb and pg_ctl are missing; on Debian: apt-get install postgresql")


def unprivileged() -> dict[str, int | list[int]]:
    """Whom to run the server as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@pytest.fixture
def database_url() -> Iterator[str]:
    programs, identity = server_programs(), unprivileged()
    home = Path(tempfile.mkdtemp(prefix="ccgbo-pg-"))  # pytest's own directories are closed to other users
    if identity:
        os.chown(home, identity["user"], identity["group"])  # type: ignore[arg-type]

    def call(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", str(home / "data"), *arguments]
        with open(home / f"{program}.out", "ab") as out:  # a pipe would stay open in the server
            done = subprocess.run(command, stdout=out, stderr=out, cwd=home, timeout=60, **identity)  # type: ignore[call-overload]
        assert done.returncode == 0, (home / f"{program}.out").read_text()

    try:
        call("initdb", "--auth=trust", "--username=ccgbo", "--encoding=UTF8", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        call("pg_ctl", "--wait", f"--log={home}/server.log", f"--options={options}", "start")
        try:
            yield f"postgresql+psycopg://ccgbo@/postgres?host={home}"
        finally:
            call("pg_ctl", "--wait", "--mode=fast", "stop")
    finally:
        shutil.rmtree(home)


def test_three_worker_processes_share_one_study_in_postgresql(database_url: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "optuna_postgres.py"), database_url]
    done = subprocess.run(
        [*command, "--workers", "3", "--trials", "24"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "trials by 3 workers, best value" in done.stdout

    storage = optuna.storages.RDBStorage(database_url)
    study = optuna.load_study(study_name="workers", storage=storage)
    trials, best = study.trials, study.best_value
    storage.remove_session()
    storage.engine.dispose()
    assert 24 <= len(trials) <= 26  # every worker may finish the trial it is at
    assert {t.state for t in trials} == {TrialState.COMPLETE}
    # the objective takes no time, so the workers choose at the same moment all the time; that may go wrong, rarely
    assert len({tuple(t.params.values()) for t in trials}) >= len(trials) - 2
    assert len(Counter(t.user_attrs["worker"] for t in trials)) == 3
    assert all(0.1 <= t.user_attrs["ccgbo:credit"] <= 1.0 for t in trials)
    assert any("ccgbo:weight" in t.user_attrs for t in trials)
    assert best < 2.0
