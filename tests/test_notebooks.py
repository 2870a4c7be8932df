"""What a notebook shows of the objects: compact, without script, deaf to hostile text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import ccgbo

ALLOWED = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}
HOSTILE = "</td><script>window.pwned = 1</script>"


class Tags(HTMLParser):
    """Every tag, every attribute and all text of some markup; complains of what is not closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[Any] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(markup)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data + " "


def study(path: Path, name: str = "lab", parameter: str = "x", choice: str = "a") -> ccgbo.Study:
    made = ccgbo.Study(path, {parameter: (0.0, 1.0), "kind": [choice, "b"]}, name=name, seed=0, direction="minimize")
    for i in range(14):
        trial = made.ask()
        if i == 4:
            made.tell(trial, failed=True, error=choice)
        else:
            made.tell(trial, (trial.params[parameter] - 0.3) ** 2, note=choice, tags=[choice])
    return made


def shown(made: ccgbo.Study) -> dict[str, str]:
    opt = made.optimizer()
    things: dict[str, Any] = {
        "study": made,
        "optimizer": opt,
        "result": made.result(),
        "trial": opt.trials[12],
        "space": opt.space,
        "credits": opt.credits(),
        "influence": opt.influence(),
        "diagnosis": opt.diagnose(),
    }
    return {name: thing._repr_html_() for name, thing in things.items()}


def test_every_object_is_a_few_plain_tags(tmp_path: Path) -> None:
    with study(tmp_path / "tune.db") as made:
        for name, markup in shown(made).items():
            found = Tags(markup)
            assert set(found.tags) <= ALLOWED, name
            assert found.attributes == [] and len(markup) < 6000, name


def test_what_is_shown_is_what_is_known(tmp_path: Path) -> None:
    with study(tmp_path / "tune.db") as made:
        words = {name: re.sub(r"\s+", " ", Tags(markup).words) for name, markup in shown(made).items()}
        best = made.best_trial
        for name in ("study", "optimizer", "result"):
            assert f"best value {best.value:.6g} (trial {best.id}, minimized)" in words[name]
            assert "13 complete, 0 pending, 1 failed" in words[name]
        assert "Study lab, to minimize, in tune.db" in words["study"]
        assert str(tmp_path) not in words["study"]
        assert "Trial 12: complete" in words["trial"] and "#a" in words["trial"]
        assert "Space of 2 parameters" in words["space"] and "Categorical" in words["space"]
        assert words["credits"].startswith(" trial credit value x kind") or "trial credit value" in words["credits"]
        assert "worth" in words["influence"] and "optimum is probably near" in words["influence"]
        assert "Believe the model?" in words["diagnosis"] and "Stop?" in words["diagnosis"]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    with study(tmp_path / "tune.db", HOSTILE, HOSTILE, HOSTILE) as made:
        for name, markup in shown(made).items():
            assert set(Tags(markup).tags) <= ALLOWED, name
            assert "<script" not in markup


def test_many_rows_are_cut_and_counted() -> None:
    opt = ccgbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    opt.tell_many([{"x": i / 40} for i in range(40)], [float(i) for i in range(40)])
    found = Tags(opt.credits()._repr_html_())
    assert found.tags.count("tr") == 21 and "and 20 more" in found.words


@pytest.mark.parametrize("told", [0, 1])
def test_before_the_first_values_there_is_something_to_show(told: int, tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", {"x": (0.0, 1.0)}, seed=0) as made:
        for _ in range(told):
            made.tell(made.ask(), 1.0)
        made.ask()
        for thing in (made, made.optimizer(), made.trials[0], made.space):
            assert Tags(thing._repr_html_()).words
