"""What the dashboard's server says is what the file has now, also when the file or the study went away."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ccgbo import Float
from ccgbo.storage import delete_study
from ccgbo.study import Study
from ccgbo.viz.dashboard.analyst import Analyst, analyse
from ccgbo.viz.dashboard.follow import MOST_FOLLOWED, Followers
from ccgbo.viz.dashboard.words import without_folder

from .conftest import Client, serving, wait_for


def other_file(path: Path, *values: float) -> Path:
    """A file of its own with a study of the same name."""
    with Study(path, {"x": Float(0.0, 1.0)}, name="net", seed=0) as study:
        for value in values:
            study.tell({"x": value}, value)
    return path


def remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


# -- a file that is not what it was


def test_a_deleted_file_is_said_to_be_gone_and_a_new_one_is_shown(dashboard: Client, study_path: Path) -> None:
    assert dashboard.get("/api/pulse?study=net")[0] == 200
    remove(study_path)
    for address in ("/api/pulse?study=net", "/api/study?study=net", "/api/studies"):
        status, found = dashboard.get(address)
        assert (status, found["error"]) == (404, "there is no file 'tune.db' any more: it was deleted or moved.")
    assert dashboard.post("/api/ask", {"study": "net"})[1] == {"error": "there is no study file 'tune.db'."}
    other_file(study_path, 0.25)
    assert dashboard.get("/api/study?study=net")[1]["trials"]["value"] == [0.25]
    assert [s["n_trials"] for s in dashboard.get("/api/studies")[1]["studies"]] == [1]


def test_a_replaced_file_is_read_anew(dashboard: Client, study_path: Path, tmp_path: Path) -> None:
    _, before = dashboard.get("/api/study?study=net")
    os.replace(other_file(tmp_path / "new.db", 0.5, 0.75), study_path)
    for end in ("-wal", "-shm"):
        Path(f"{study_path}{end}").unlink(missing_ok=True)
    assert dashboard.get("/api/pulse?study=net")[1]["revision"] != before["revision"]
    _, after = dashboard.get(f"/api/study?study=net&since={before['revision']}")
    assert (after["since"], after["trials"]["value"]) == (None, [0.5, 0.75])


def test_a_deleted_study_is_named_until_it_is_made_anew(dashboard: Client, study_path: Path) -> None:
    _, before = dashboard.get("/api/study?study=net")
    Study(study_path, {"x": Float(0.0, 1.0)}, name="second").close()
    delete_study(study_path, "net")
    for _ in range(2):
        status, found = dashboard.get("/api/pulse?study=net")
        words = "the study 'net' was deleted from 'tune.db'; it has ['second']."
        assert (status, found["error"]) == (404, words)
    other_file(study_path, 1.0)
    _, after = dashboard.get(f"/api/study?study=net&since={before['revision']}")
    assert after["trials"]["value"] == [1.0]


def test_the_list_of_studies_follows_what_is_told(dashboard: Client, study_path: Path) -> None:
    def counts() -> dict[str, int]:
        return {s["name"]: s["n_complete"] for s in dashboard.get("/api/studies")[1]["studies"]}

    assert counts() == {"net": 12}
    with Study(study_path) as study:
        study.tell(13, 0.25)
    wait_for(lambda: counts() == {"net": 13})
    Study(study_path, {"x": Float(0.0, 1.0)}, name="second").close()
    wait_for(lambda: counts() == {"net": 13, "second": 0})


def test_a_dashboard_that_was_there_first_sees_runs_that_come_and_go_and_takes_part(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Study(path, {"x": Float(0.0, 1.0)}, name="net", seed=0).close()
    evaluate = [sys.executable, "-m", "ccgbo", "run", str(path), "--quiet"]
    with serving(path) as client:

        def trials() -> list[str]:
            client.get("/api/pulse?study=net")
            states: list[str] = client.get("/api/study?study=net")[1]["trials"]["state"]
            return states

        assert trials() == []
        for n in (2, 5):
            subprocess.run([*evaluate, "-n", str(n), "--", "echo", "{x}"], check=True, capture_output=True)
            assert trials() == ["complete"] * n
            trial = client.post("/api/ask", {"study": "net"})[1]["trials"][0]
            assert trials() == ["complete"] * n + ["pending"]
            assert client.post("/api/tell", {"study": "net", "trial": trial, "value": 0.5})[0] == 200
            assert trials() == ["complete"] * (n + 1)


# -- only what changed


def merged(whole: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """As the page does it."""
    rows = dict(zip(whole["id"], zip(whole["state"], whole["value"], *whole["at"])))
    rows |= dict(zip(changes["id"], zip(changes["state"], changes["value"], *changes["at"])))
    return rows


def test_a_page_gets_only_the_trials_that_changed_since_its_version(dashboard: Client, study_path: Path) -> None:
    _, first = dashboard.get("/api/study?study=net")
    with Study(study_path) as study:
        study.tell(13, 9.0)
        study.tell(study.ask(), failed=True, error="spilt")
    _, changes = dashboard.get(f"/api/study?study=net&since={first['revision']}")
    assert (changes["since"], changes["trials"]["id"], changes["best"]) == (first["revision"], [13, 14], 13)
    assert changes["trials"]["error"] == {"14": "spilt"}
    _, whole = dashboard.get("/api/study?study=net")
    assert merged(first["trials"], changes["trials"]) == merged(whole["trials"], {**whole["trials"], "id": []})
    _, nothing = dashboard.get(f"/api/study?study=net&since={whole['revision']}")
    assert nothing["trials"]["id"] == []
    for foreign in ("x", "x.1", f"{first['revision']}x", ".", "0"):
        assert dashboard.get(f"/api/study?study=net&since={foreign}")[1]["since"] is None


def test_many_pages_share_one_answer_which_is_sent_compressed(dashboard: Client, study_path: Path) -> None:
    followers = Followers(study_path)
    try:
        assert followers.get("net").study() is followers.get("net").study()
    finally:
        followers.close()
    connection = http.client.HTTPConnection("127.0.0.1", dashboard.port, timeout=30)
    connection.request("GET", "/api/study?study=net", headers=dashboard.bearer | {"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.getheader("Content-Encoding") == "gzip"
    assert json.loads(gzip.decompress(body)) == dashboard.get("/api/study?study=net")[1]


def test_choices_and_missing_settings_come_as_they_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    space = {"kind": [None, "b"], "x": Float(0.0, 1.0, active_if={"kind": "b"})}
    with Study(path, space, name="net", seed=0) as study:
        study.tell({"kind": None}, 1.0)
        study.tell({"kind": "b", "x": 0.25}, 2.0)
    with serving(path) as client:
        assert client.get("/api/study?study=net")[1]["trials"]["at"] == [[0, 1], [None, 0.25]]


def test_only_so_many_studies_are_held_open(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    for i in range(MOST_FOLLOWED + 3):
        Study(path, {"x": Float(0.0, 1.0)}, name=f"s{i}").close()
    followers = Followers(path)
    try:
        for _ in range(2):
            for i in range(MOST_FOLLOWED + 3):
                assert followers.get(f"s{i}").pulse()
        assert len(followers._by_name) == MOST_FOLLOWED
    finally:
        followers.close()


# -- what errors say


def test_no_error_names_the_folder(dashboard: Client, study_path: Path) -> None:
    def words() -> list[str]:
        looks = [
            f"/api/{what}?study={name}" for what in ("pulse", "study", "analysis", "reproduction") for name in "ab"
        ]
        answers = [dashboard.request("GET", address)[2] for address in [*looks, "/api/studies", "/api/study"]]
        answers += [
            dashboard.post(f"/api/{what}", {"study": "none", "trial": 0})[1]["error"] for what in ("ask", "fail")
        ]
        return answers

    said = words()
    shutil.copy(study_path, study_path.with_name("copy.db"))
    remove(study_path)
    said += words()
    study_path.write_bytes(b"no database" * 1000)
    said += words()
    assert all("tune.db" in text or "non-empty" in text for text in said), said
    assert not any(str(study_path.parent) in text or study_path.parent.name in text for text in said), said


def test_the_analyst_does_not_name_the_folder_either(study_path: Path) -> None:
    (answer,) = analyse(study_path, "other", {})
    assert answer == {"message": "'tune.db' has no study 'other'; it has ['net']."}
    analyst = Analyst(study_path)
    try:
        assert json.loads(next(iter(analyst.stages("other")))) == answer
    finally:
        analyst.close()


def test_a_path_is_found_as_python_quotes_it_too() -> None:
    path = Path("/a/it's \\ here/tune.db")
    for text in (str(path), repr(str(path))):
        assert "here" not in without_folder(f"cannot read {text}.", path)
        assert "tune.db" in without_folder(f"cannot read {text}.", path)


@pytest.mark.parametrize("count", [1, 3])
def test_the_analysis_of_a_new_series_is_not_taken_for_the_old_one(study_path: Path, count: int) -> None:
    followers = Followers(study_path)
    try:
        versions = {followers.get("net").analysis()[0] for _ in range(count)}
        followers._let_go()
        assert followers.get("net").analysis()[0] not in versions
    finally:
        followers.close()
