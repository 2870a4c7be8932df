"""The dashboard's server: who gets in, what can be read, and that what is told is in the file."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ccgbo import Float, MissingExtraError, SettingError, StorageError, StudyNotFoundError
from ccgbo.storage import delete_study
from ccgbo.study import Study
from ccgbo.viz.cli import dashboard as dashboard_command
from ccgbo.viz.dashboard.analyst import Analyst, analyse, child_command
from ccgbo.viz.dashboard.guard import is_loopback
from ccgbo.viz.dashboard.serve import address, serve

from .conftest import MIXED, Client, serving, wait_for

ADDRESSES = [
    "/",
    "/assets/views.js",
    "/assets/plotly-cartesian.min.js",
    "/api/studies",
    "/api/pulse?study=net",
    "/api/study?study=net",
    "/api/analysis?study=net",
    "/api/reproduction?study=net",
    "/api/comparison",
    "/api/space?study=net",
    "/api/export?study=net",
    "/nothing",
]
CHANGES: dict[str, Any] = {
    "/api/ask": {"study": "net"},
    "/api/tell": {"study": "net", "trial": 13, "value": 0.5},
    "/api/fail": {"study": "net", "trial": 13},
    "/api/amend": {"study": "net", "trial": 0, "value": 0.5},
    "/api/drop": {"study": "net", "trial": 0},
    "/api/restore": {"study": "net", "trial": 0},
    "/api/abandon": {"study": "net", "trial": 13},
    "/api/release": {"study": "net", "trial": 13},
    "/api/annotate": {"study": "net", "trial": 13, "note": "x"},
    "/api/enqueue": {"study": "net", "params": {"rate": 0.01, "layers": 2, "kind": "tanh", "dropout": 0.1}},
    "/api/change": {"study": "net", "parameters": {"layers": {"high": 9}}},
    "/api/import?study=net&name=a.csv": b"id,value\n13,0.5\n",
}
POINT = {"rate": 0.01, "layers": 2, "kind": "tanh", "dropout": 0.1}


def states(path: Path) -> list[Any]:
    """All that a request could change."""
    with Study(path) as study:
        return [*(trial.to_dict() for trial in study.trials), repr(study.space), *study.log()]


# -- looking


def test_the_page_and_its_files_are_served_with_a_policy_that_allows_no_foreign_script(dashboard: Client) -> None:
    for path in ADDRESSES:
        status, headers, text = dashboard.request("GET", path)
        assert status == (404 if path == "/nothing" else 200), path
        assert text
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy, path
        assert "default-src 'none'" in policy, path
        assert headers["x-content-type-options"] == "nosniff"


def test_a_study_is_read_as_the_file_has_it(dashboard: Client, study_path: Path) -> None:
    _, found = dashboard.get("/api/study?study=net")
    with Study(study_path) as study:
        assert found["trials"]["value"] == [t.value for t in study.trials]
        assert found["trials"]["state"] == [t.state for t in study.trials]
        assert found["best"] == study.best_trial.id
    _, listed = dashboard.get("/api/studies")
    assert [s["name"] for s in listed["studies"]] == ["net"]
    assert listed["file"] == "tune.db"


def test_a_told_value_moves_the_pulse_and_nothing_else_does(dashboard: Client, study_path: Path) -> None:
    _, first = dashboard.get("/api/pulse?study=net")
    _, second = dashboard.get("/api/pulse?study=net")
    assert first["revision"] == second["revision"]
    with Study(study_path) as study:  # as another process would
        study.tell(13, 0.25)
    _, third = dashboard.get("/api/pulse?study=net")
    assert third["revision"] != first["revision"]
    _, found = dashboard.get("/api/study?study=net")
    assert found["trials"]["value"][13] == 0.25


def test_the_credits_come_after_the_trials_and_are_those_of_the_study(dashboard: Client, study_path: Path) -> None:
    assert dashboard.get("/api/analysis?study=net")[1] == {}  # at once, before anything is computed
    dashboard.get("/api/study?study=net")

    def complete() -> dict[str, dict[str, list[float]]]:
        dashboard.get("/api/pulse?study=net")
        found = dashboard.get("/api/analysis?study=net")[1]
        return found if "over_time" in found else {}

    analysis = wait_for(complete)
    with Study(study_path) as study:
        rows = {row.trial_id: row.credit for row in study.credits()}
    assert dict(zip(analysis["credits"]["id"], analysis["credits"]["credit"])) == pytest.approx(rows, abs=1e-4)


def test_a_study_without_values_is_shown_and_says_why_there_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Study(path, MIXED, name="net", seed=0).close()
    with serving(path) as client:
        assert client.get("/api/study?study=net")[1]["trials"]["id"] == []
        client.get("/api/pulse?study=net")
        found = wait_for(lambda: client.get("/api/analysis?study=net")[1])
        assert "no observation yet" in found["message"]


def test_the_analyst_is_started_again_after_it_died_and_ends_with_the_dashboard(study_path: Path) -> None:
    analyst = Analyst(study_path)
    assert len(list(analyst.stages("net"))) == 3
    first = analyst._process
    assert first is not None
    assert "no study 'other'" in json.loads(next(analyst.stages("other")))["message"]
    assert first.wait(10) != 0  # nobody read on: what was left must not be taken for the next answer
    *_, last = analyst.stages("net")
    assert "over_time" in json.loads(last)
    second = analyst._process
    assert second is not None
    assert second is not first
    analyst.close()
    assert second.poll() is not None
    assert list(analyst.stages("net")) == []


def test_what_a_new_analysis_has_not_reached_yet_is_kept_from_the_last(study_path: Path) -> None:
    stages = list(analyse(study_path, "net", {"over_time": "old", "proxy": "old"}))
    assert (stages[0]["over_time"], stages[0]["proxy"] == "old") == ("old", False)
    assert stages[-1]["over_time"] != "old"
    other = next(analyse(study_path, "net", {"over_time": "old", "space": 1}))
    assert "over_time" not in other  # of another space: its parameters may be gone


def test_an_analysis_that_breaks_leaves_a_message(
    study_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ccgbo.viz.payload.ModelView", lambda _: 1 / 0)
    assert list(analyse(study_path, "net", {})) == [{"message": "The analysis failed; the terminal says why."}]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_study_that_is_not_there_or_was_deleted_is_not_found(dashboard: Client, study_path: Path) -> None:
    status, found = dashboard.get("/api/study?study=other")
    assert (status, "no study 'other'" in found["error"]) == (404, True)
    assert dashboard.get("/api/pulse?study=net")[0] == 200
    delete_study(study_path, "net")
    assert dashboard.get("/api/pulse?study=net")[0] == 404
    with Study(study_path, {"x": Float(0.0, 1.0)}, name="net") as again:
        again.tell({"x": 0.5}, 1.0)
    assert dashboard.get("/api/study?study=net")[1]["trials"]["value"] == [1.0]


# -- doing


def test_ask_tell_and_fail_are_in_the_file(dashboard: Client, study_path: Path) -> None:
    status, asked = dashboard.post("/api/ask", {"study": "net"})
    assert (status, asked) == (200, {"trials": [14]})
    assert dashboard.post("/api/tell", {"study": "net", "trial": 13, "value": 0.75})[0] == 200
    assert dashboard.post("/api/fail", {"study": "net", "trial": 14, "reason": "spilt"})[0] == 200
    assert dashboard.post("/api/tell", {"study": "net", "params": POINT, "value": -1})[1]["trial"] == 15
    with Study(study_path) as study:
        told, failed, elsewhere = study.trials[13:]
        assert (told.state, told.value) == ("complete", 0.75)
        assert (failed.state, failed.error) == ("failed", "spilt")
        assert (dict(elsewhere.params), elsewhere.value, elsewhere.origin) == (POINT, -1.0, "external")


WRONG: list[tuple[str, Any, str]] = [
    ("/api/tell", {"trial": 13, "value": "1"}, "value must be a finite number, got '1'"),
    ("/api/tell", {"trial": 13, "value": True}, "value must be a finite number, got True"),
    ("/api/tell", {"trial": 13}, "value must be a finite number, got None"),
    ("/api/tell", b'{"study": "net", "trial": 13, "value": NaN}', "value must be a finite number, got nan"),
    ("/api/tell", {"trial": 0, "value": 1.0}, "trial 0 is already complete"),
    ("/api/tell", {"trial": 99, "value": 1.0}, "no trial is known as 99"),
    ("/api/tell", {"trial": "13", "value": 1.0}, "trial must be a trial's id, got '13'"),
    ("/api/tell", {"params": [], "value": 1.0}, "params must be an object"),
    ("/api/tell", {"params": POINT | {"layers": 99}, "value": 1.0}, "layers must be in [1, 8], got 99"),
    ("/api/fail", {"trial": 13, "reason": 7}, "reason must be a text, got 7"),
    ("/api/tell", {"trial": 2**63, "value": 1.0}, "trial must be a trial's id, got 9.2"),
    ("/api/tell", b'{"study": "net", "trial": 13, "value": 1%s}' % (b"0" * 400), "must be a finite number, got inf"),
    ("/api/tell", b'{"study": "net", "trial": 13, "value": 1%s}' % (b"0" * 5000), "must be a finite number, got inf"),
    ("/api/tell", {"params": POINT | {"rate": 10**400}, "value": 1.0}, "rate must be a finite number, got inf"),
    ("/api/tell", {"params": POINT | {"layers": 2**63}, "value": 1.0}, "layers must be"),
    ("/api/fail", {"trial": 13, "reason": "\ud800"}, "half a surrogate pair"),
    ("/api/tell", {"params": POINT | {"kind": "\udcff"}, "value": 1.0}, "half a surrogate pair"),
    ("/api/ask", {"study": "\ud800"}, "half a surrogate pair"),
    ("/api/ask", {"study": ""}, "study must be a non-empty text"),
    ("/api/ask", b"[]", "must be a JSON object"),
    ("/api/ask", b"{", "must be JSON"),
    ("/api/ask", b"[" * 50_000, "must be JSON"),
]


def test_a_wrong_request_changes_nothing_and_says_what_is_wrong(dashboard: Client, study_path: Path) -> None:
    before = states(study_path)
    for path, body, words in WRONG:
        status, found = dashboard.post(path, {"study": "net"} | body if isinstance(body, dict) else body)
        assert status == 400, body
        assert words in found["error"]
    assert states(study_path) == before


def test_a_body_larger_than_any_form_is_refused(dashboard: Client) -> None:
    assert dashboard.post("/api/ask", b" " * 200_000)[0] == 413


# -- who gets in


def test_a_foreign_host_name_gets_nothing(dashboard: Client) -> None:
    """DNS rebinding: a page of evil.example that has its own name pointed at 127.0.0.1."""
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[::bad", ""):
        for path in ADDRESSES:
            status, headers, text = dashboard.request("GET", path, Host=host)
            assert (status, "net" in text) == (421, False), (host, path)
            assert "content-security-policy" in headers
    for host in ("localhost", "127.0.0.1:1", "[::1]:8765"):
        assert dashboard.request("GET", "/api/studies", Host=host)[0] == 200


@pytest.fixture
def elsewhere(study_path: Path) -> Iterator[Client]:
    """As it would be bound to another address: it answers to any name."""
    with serving(study_path, local=False) as client:
        yield client


def test_without_the_token_every_request_is_refused(elsewhere: Client, study_path: Path) -> None:
    before, elsewhere.bearer = states(study_path), {}
    wrong: list[dict[str, str]] = [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer the-token-and-more"},
        {"Authorization": "Bearer töken"},
        {"Cookie": f"ccgbo_{elsewhere.port}=wrong"},
        {"Cookie": "ccgbo_1=the-token"},
    ]
    for headers in wrong:
        for path in ADDRESSES:
            status, _, text = elsewhere.request("GET", path, **headers)
            assert (status, "net" in text.replace("internet", "")) == (403, False), (headers, path)
        for path, body in CHANGES.items():
            own = {"Origin": f"http://127.0.0.1:{elsewhere.port}", "X_Page_Secret": "page-secret"}
            assert elsewhere.request("POST", path, body, **own, **headers)[0] == 403
    assert elsewhere.request("GET", "/?token=wrong")[0] == 403
    assert elsewhere.request("POST", "/api/ask?token=the-token", {"study": "net"})[0] == 403
    assert states(study_path) == before


def test_with_the_token_every_request_is_answered(elsewhere: Client) -> None:
    for path in ADDRESSES[:-1]:
        assert elsewhere.request("GET", path)[0] == 200, path
    assert elsewhere.post("/api/ask", {"study": "net"})[0] == 200


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(elsewhere: Client) -> None:
    elsewhere.bearer = {}
    status, headers, text = elsewhere.request("GET", "/?study=a%26b&token=the-token")
    assert (status, 'content="0;url=/?study=a%26b"' in text, "the-token" in text) == (200, True, False)
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert elsewhere.request("GET", "/api/studies", Cookie=cookie.split(";")[0])[0] == 200


def test_the_way_on_after_the_token_stays_on_this_host_and_is_no_markup(elsewhere: Client) -> None:
    for path, there in (("//evil.example/", "/evil.example/"), ("/%22%3E%3Cb%3E", "/%22%3E%3Cb%3E")):
        _, _, text = elsewhere.request("GET", f"{path}?token=the-token")
        assert f'content="0;url={there}"' in text


def test_who_comes_without_the_token_is_told_how_to_get_in(dashboard: Client) -> None:
    dashboard.bearer = {}
    status, headers, text = dashboard.request("GET", "/", Accept="text/html,*/*")
    assert (status, headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "Open the address that <code>ccgbo dashboard</code> printed" in text
    status, headers, text = dashboard.request("GET", "/api/studies")
    assert (status, "Open the address" in text, "<" in text) == (403, True, False)


def test_a_cross_site_post_changes_nothing(dashboard: Client, study_path: Path) -> None:
    before = states(study_path)
    own, secret = f"http://127.0.0.1:{dashboard.port}", "page-secret"
    foreign: list[dict[str, str]] = [
        {},
        {"Origin": own},  # no secret
        {"X_Page_Secret": secret},  # no origin
        {"Origin": own, "X_Page_Secret": "wrong"},
        {"Origin": "http://evil.example", "X_Page_Secret": secret},
        {"Origin": "http://127.0.0.1:1", "X_Page_Secret": secret},  # another server of this machine
        {"Origin": "null", "X_Page_Secret": secret},
        {"Origin": own + ".evil.example", "X_Page_Secret": secret},
    ]
    for headers in foreign:
        for path, body in CHANGES.items():
            assert dashboard.request("POST", path, body, **headers)[0] == 403, (headers, path)
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert dashboard.request(method, "/api/ask", {"study": "net"})[0] == 403
    assert dashboard.request("GET", "/api/ask?study=net")[0] == 405
    assert states(study_path) == before
    assert dashboard.post("/api/ask", CHANGES["/api/ask"])[0] == 200


def test_no_address_reads_outside_the_study_file(dashboard: Client, study_path: Path) -> None:
    secret = study_path.parent / "secret.txt"
    secret.write_text("SECRET", encoding="utf-8")
    other = study_path.parent / "other.db"
    Study(other, MIXED, name="other", seed=0).close()
    up = "/".join([".."] * 12)
    names = [
        f"{up}{secret}",
        f"{up}{secret}".replace("/", "%2f"),
        f"{up}{secret}".replace(".", "%2e").replace("/", "%2F"),
        str(secret),
        f"file://{secret}",
        "..%5c..%5csecret.txt",
        "__init__.py",
        "../report.py",
        "views.js%00.py",
        "dashboard.html",
    ]
    for name in names:
        for path in (f"/assets/{name}", f"/{name}", f"/assets/views.js/{name}"):
            status, _, text = dashboard.request("GET", path)
            assert (status, "SECRET" in text or "import " in text) == (404, False), path
        for path in ("/api/study", "/api/pulse", "/api/analysis", "/api/reproduction", "/api/space", "/api/export"):
            status, _, text = dashboard.request("GET", f"{path}?study={name}")
            assert (status, "SECRET" in text) == (404, False), name
    for name in ("other", str(other), "../other.db"):
        assert dashboard.get(f"/api/study?study={name}")[0] == 404
        assert dashboard.post("/api/ask", {"study": name})[0] == 404
        assert dashboard.post(f"/api/import?study={name}&name=a.csv", b"id,value\n")[0] == 404


def test_loopback_is_told_from_the_rest() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.1", "example.com", "localhost.evil.example", "")))


# -- the command


def test_an_analyst_whose_dashboard_was_killed_ends_without_a_word(study_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(child_command(study_path), **pipes) as child:  # type: ignore[call-overload]
        child.stdout.close()
        child.stdin.write(b'"net"\n')
        child.stdin.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 0


def start(*arguments: str) -> tuple[subprocess.Popen[str], str, int]:
    """The real command; the address it says and its port."""
    command = [sys.executable, "-m", "ccgbo", "dashboard", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://[^/]+:(\d+)/\S*", process.stdout.readline())
    assert found is not None
    return process, found[0], int(found[1])


def stop(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End it; what it said after its address, and its complaints."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=20)


def token_of(said: str) -> str:
    found = re.search(r"\?token=(\S+)", said)
    assert found is not None
    return found[1]


def test_the_command_listens_on_this_machine_only_and_asks_for_its_token(study_path: Path) -> None:
    process, said, port = start(str(study_path))
    try:
        assert said.startswith(f"http://127.0.0.1:{port}/?token=")
        assert Client(port).request("GET", "/")[0] == 403
        assert Client(port, token=token_of(said)).get("/api/studies")[0] == 200
    finally:
        after = stop(process)
    assert (after, process.returncode) == (("", ""), 0)  # nothing to complain about, and the token is said once


def test_the_command_needs_no_token_where_none_is_wanted(study_path: Path) -> None:
    process, said, port = start(str(study_path), "--no-token")
    try:
        assert said == f"http://127.0.0.1:{port}/"
        assert Client(port).get("/api/studies")[0] == 200
        assert Client(port).request("GET", "/api/studies", Host="evil.example")[0] == 421
    finally:
        stop(process)
    with pytest.raises(SettingError, match=r"token must be True where others can connect: host is '0\.0\.0\.0'"):
        serve(study_path, host="0.0.0.0", port=0, token=False)


def test_the_command_prints_a_token_for_any_other_address_and_asks_for_it(study_path: Path) -> None:
    process, said, port = start(str(study_path), "--host", "0.0.0.0")
    try:
        assert len(token_of(said)) >= 32
        assert Client(port).request("GET", "/api/studies")[0] == 403
        assert Client(port, token=token_of(said)).get("/api/studies")[0] == 200
    finally:
        stop(process)


ATTACK = """
import http.client, os, re, sys
port, folder = int(sys.argv[1]), sys.argv[2]
"localhost".encode("idna")  # loaded while this user can still read the library
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)  # nobody
    try:
        print("folder", os.listdir(folder))
    except PermissionError:
        pass
own = {"Origin": f"http://127.0.0.1:{port}", "X-Page-Secret": ""}
def ask(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, body, own)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()
page = ask("GET", "/")
found = re.search(r'page-secret" content="([^"]+)', page[1])
own["X-Page-Secret"] = found[1] if found else ""
for answer in (page, ask("GET", "/api/studies"), ask("GET", "/api/study?study=net"),
               ask("POST", "/api/tell", '{"study": "net", "trial": 13, "value": 1e308}')):
    print(answer[0], "net" in answer[1])
"""


@pytest.mark.parametrize(
    ("options", "answers", "state"),
    [
        ([], ["403 False"] * 4, "pending"),
        (["--no-token"], ["200 False", "200 True", "200 True", "200 False"], "complete"),  # so the attack is a real one
    ],
)
def test_another_user_of_this_machine_neither_reads_nor_changes_a_study(
    study_path: Path, options: list[str], answers: list[str], state: str
) -> None:
    """Run as root it becomes another user; else it is at least somebody who has only the port."""
    study_path.parent.chmod(0o700)
    process, _, port = start(str(study_path), *options)
    try:
        attack = [sys.executable, "-c", ATTACK, str(port), str(study_path.parent)]
        seen = subprocess.run(attack, capture_output=True, text=True, timeout=60)
        assert (seen.stdout.splitlines(), seen.stderr) == (answers, "")
    finally:
        stop(process)
    assert states(study_path)[13]["state"] == state


def test_the_browser_is_sent_to_a_private_file_since_its_arguments_are_public(
    study_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    monkeypatch.setattr("click.launch", lambda what: launched.append(what) or 0)
    monkeypatch.setattr("ccgbo.viz.dashboard.serve.server", look_at_the_door(launched))
    done = CliRunner().invoke(dashboard_command, [str(study_path), "--port", "0", "--open"], catch_exceptions=False)
    door = Path(launched[0])
    token = token_of(done.output)
    assert token not in launched[0]
    assert (f"?token={token}" in launched[1], launched[2]) == (True, "0o700")
    assert not door.exists()


def look_at_the_door(launched: list[str]) -> Any:
    """In place of the server: what is there while it would run."""

    class Look:
        def run(self, **_: Any) -> None:
            door = Path(launched[0])
            launched.extend([door.read_text(encoding="utf-8"), oct(door.parent.stat().st_mode & 0o777)])

    return lambda _: Look()


def test_a_file_that_is_no_study_and_a_port_that_is_taken_are_said_at_once(study_path: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyNotFoundError, match="there is no study file"):
        serve(tmp_path / "none.db")
    wrong = tmp_path / "notes.txt"
    wrong.write_text("hello", encoding="utf-8")
    done = CliRunner().invoke(dashboard_command, [str(wrong)])
    assert isinstance(done.exception, StorageError)
    with serving(study_path) as client, pytest.raises(StorageError, match=f"cannot listen on 127.0.0.1:{client.port}"):
        serve(study_path, port=client.port)


def test_without_a_server_installed_the_command_says_what_to_install(
    study_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"ccgbo\[dashboard\]"):
        serve(study_path)


def test_addresses_are_written_as_a_browser_reads_them() -> None:
    assert address("::1", 80, None) == "http://[::1]:80/"
    assert address("192.168.0.7", 80, "t") == "http://192.168.0.7:80/?token=t"
    assert not address("0.0.0.0", 80, "t").startswith("http://0.0.0.0")
