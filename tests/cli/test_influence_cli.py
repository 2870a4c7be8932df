"""``ccgbo influence``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.cli import main


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    with ccgbo.Study("tune.db", {"x": (0.0, 1.0), "kind": ["a", "b"]}, seed=0, n_initial=4) as study:
        for _ in range(8):
            trial = study.ask()
            study.tell(trial, trial.params["x"] - (trial.params["kind"] == "b"))

    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as exit_:
            main(["influence", "tune.db", *arguments])
        out, err = capsys.readouterr()
        assert exit_.value.code == code, (out, err)
        return out, err

    return run


def test_a_table_by_worth_and_the_two_stories(call: Any) -> None:
    out, _ = call("--group", "early=0,2-3", "--by", "kind", "--next", "--refit", "--shapley", "4", "--top", "1")
    lines = out.splitlines()
    assert lines[0].split()[:6] == ["id", "value", "credit", "worth", "±", "doubt"]
    assert "share" in lines[0] and "and refitted" in lines[0] and lines[0].endswith("kind")
    worth = [float(line.split()[3]) for line in lines[1:9]]
    assert worth == sorted(worth, reverse=True)
    assert "The optimum is probably near x = " in out
    assert "Without early (3 observations) " in out and "Without kind = a (" in out and "Next x = " in out


def test_the_same_as_json_and_only_the_most_valuable(call: Any) -> None:
    found = json.loads(call("--json", "--group", "a=b=1")[0])
    with ccgbo.Study("tune.db") as study:
        expected = study.influence({"a=b": [1]})
    assert [row["worth"] for row in found["rows"]] == [row.worth for row in expected]
    assert [group["name"] for group in found["groups"]] == ["a=b"]
    assert len(call("--last", "2")[0].split("The optimum")[0].splitlines()) == 3


def test_a_group_that_is_none_is_refused(call: Any) -> None:
    for text in ("Monday", "Monday=", "Monday=x", "Monday=3-"):
        assert "--group must be a name and ids of trials" in call("--group", text, code=2)[1]
    assert "no trial is known as 77" in call("--group", "Monday=77", code=1)[1]
