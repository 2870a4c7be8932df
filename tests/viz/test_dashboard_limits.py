"""What strangers can do to the dashboard's process: hold connections, fill its log, put files beside the study."""

from __future__ import annotations

import http.client
import logging
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ccgbo
from ccgbo.viz.dashboard import limits
from ccgbo.viz.dashboard.analyst import child_command, import_path
from ccgbo.viz.dashboard.limits import Sparingly

from .conftest import Client, serving, wait_for
from .test_dashboard import start, stop, token_of

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "


# -- connections


@contextmanager
def half_open(port: int, n: int, sent: bytes = HALF) -> Iterator[list[socket.socket]]:
    """Connections that never finish their request."""
    held: list[socket.socket] = []
    try:
        for _ in range(n):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=20))
            held[-1].sendall(sent)
        yield held
    finally:
        for each in held:
            each.close()


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side let go; waits for that."""
    connection.settimeout(20)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_hundreds_of_half_open_connections_stop_neither_the_dashboard_nor_fill_its_log(study_path: Path) -> None:
    few = (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, few)  # what the command inherits
    try:
        process, said, port = start(str(study_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        with half_open(port, 400) as held:
            for _ in range(3):
                assert Client(port, token=token_of(said)).get("/api/studies")[0] == 200
            assert is_closed(held[0])  # they push each other out
    finally:
        _, complaints = stop(process)
    assert complaints.count("\n") < 40


@pytest.mark.parametrize(
    "sent", [b"", HALF, b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"]
)
def test_whoever_does_not_send_a_whole_request_is_let_go(
    study_path: Path, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    with serving(study_path) as client, half_open(client.port, 1, sent) as (held,):
        assert is_closed(held) or held.recv(4096)
        wait_for(lambda: is_closed(held))
        assert client.get("/api/studies")[0] == 200


def test_a_connection_that_is_used_again_has_the_time_anew(study_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 1.0)
    with serving(study_path) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        connection.connect()
        first = connection.sock
        for _ in range(3):
            connection.request("GET", "/api/studies", headers=client.bearer)
            assert b"tune.db" in connection.getresponse().read()
            time.sleep(0.5)
        assert connection.sock is first
        connection.close()


def test_an_upgrade_to_a_websocket_is_an_ordinary_request(dashboard: Client) -> None:
    status, _, _ = dashboard.request("GET", "/api/studies", Upgrade="websocket", Connection="Upgrade")
    assert status == 200


def test_the_same_line_is_logged_a_few_times_and_then_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("ccgbo.viz.dashboard.limits.time.monotonic", lambda: now[0])
    sparingly = Sparingly()

    def log(text: str) -> str | None:
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, text, (), None)
        return record.getMessage() if sparingly.filter(record) else None

    shown = [log("out of system resource") for _ in range(1000)]
    assert shown == ["out of system resource"] * limits.LINES + [None] * (1000 - limits.LINES)
    assert log("another") == "another"
    now[0] = limits.PER
    assert log("out of system resource") == "out of system resource (995 more like this were not shown)"


# -- files beside the study

PLANTED = ("scipy", "random", "json", "numpy", "ccgbo")


@pytest.fixture
def trapped(study_path: Path) -> Path:
    """The study's folder with files named like modules, each of which leaves a trace when it is run."""
    for name in PLANTED:
        trap = f"open({str(study_path.parent / 'RAN')!r}, 'a').write({name!r})\nraise ImportError('from here')\n"
        (study_path.parent / f"{name}.py").write_text(trap, encoding="utf-8")
    return study_path


def command(*arguments: str) -> list[str]:
    """The installed script, which does not look into the current folder."""
    return [sys.executable, "-P", "-c", "from ccgbo.cli import main; main()", *arguments]


def test_the_dashboard_and_its_child_run_no_file_of_the_current_folder(trapped: Path) -> None:
    process = subprocess.Popen(
        command("dashboard", trapped.name, "--port", "0"),
        cwd=trapped.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        port = int(said.partition("127.0.0.1:")[2].partition("/")[0])
        client = Client(port, token=token_of(said))
        client.get("/api/study?study=net")

        def analysed() -> bool:
            client.get("/api/pulse?study=net")
            return "credits" in client.get("/api/analysis?study=net")[1]

        wait_for(analysed)
    finally:
        _, complaints = stop(process)
    assert not (trapped.parent / "RAN").exists()
    assert "Error" not in complaints


def test_the_report_runs_no_file_of_the_current_folder(trapped: Path) -> None:
    done = subprocess.run(command("report", trapped.name), cwd=trapped.parent, capture_output=True, text=True)
    assert (done.returncode, done.stdout.startswith("wrote report.html")) == (0, True)
    assert not (trapped.parent / "RAN").exists()


def test_the_child_imports_from_where_its_parent_does_but_for_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entries = ["", ".", str(tmp_path), "app.pyz", "/elsewhere"]
    assert import_path(entries) == ["app.pyz", "/elsewhere"]
    home = Path(ccgbo.__file__).parents[1]
    monkeypatch.chdir(home)  # a checkout: the package itself is here, and everything else is found before
    assert import_path(["", "/elsewhere"]) == ["/elsewhere", str(home)]


def test_the_child_finds_what_only_the_path_of_its_parent_has(study_path: Path, tmp_path: Path) -> None:
    """As with PYTHONPATH, a zipapp or a script that extends sys.path."""
    mark = tmp_path / "extra" / "mark_of_the_parent.py"
    mark.parent.mkdir()
    mark.write_text("found = True\n", encoding="utf-8")
    sys.path.insert(0, str(mark.parent))
    try:
        whole = child_command(study_path)
    finally:
        sys.path.pop(0)
    at = whole.index("-c") + 1
    whole[at] = whole[at].partition("from ")[0] + "import mark_of_the_parent; print(mark_of_the_parent.found)"
    done = subprocess.run(whole, capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout == "True\n"
