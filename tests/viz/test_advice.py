"""What a lab can act on: the cards of what is next, whether to believe and whether to stop, on real pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccgbo import Float, Optimizer
from ccgbo.study import Study
from ccgbo.viz import ModelView, plot_parallel
from ccgbo.viz.payload import analysis_payload, analysis_stages, study_payload, to_json
from ccgbo.viz.report import report_html, write_report

from .browser import Browser
from .conftest import MIXED, run, serving, wait_for
from .test_report import embedded

SPACE = {"temperature": Float(20.0, 90.0), "acid": Float(0.0, 1.0)}


def brew(temperature: float, acid: float) -> float:
    return (temperature - 60.0) ** 2 / 100.0 + 5.0 * (acid - 0.4) ** 2


def lab(path: Path, n: int = 24) -> Study:
    """A minimisation with a value far off, two failures, a dropped, an abandoned and two waiting trials."""
    study = Study(path, SPACE, name="brew", direction="minimize", seed=0)
    for i in range(n):
        trial = study.ask()
        if i in (5, 9):
            study.tell(trial, failed=True, error="boiled over")
        else:
            study.tell(trial, brew(**trial.params) * (1000.0 if i == 1 else 1.0))
    study.drop(3, note="wrong acid")
    study.annotate(7, note="repeat it", tags=["kim", "batch-2"])
    study.ask(3)
    study.abandon(n + 2)
    return study


def words(payload: Any) -> str:
    return to_json(payload).lower()


def test_the_payload_says_whether_to_believe_and_whether_to_stop(tmp_path: Path) -> None:
    with lab(tmp_path / "lab.db") as study:
        opt = study.optimizer()
        found, diagnosis = analysis_payload(opt)["believe"], opt.diagnose()
    assert found["summary"] == diagnosis.summary()
    assert [c["kind"] for c in found["concerns"]] == [c.kind for c in diagnosis.concerns]
    assert found["left_out"]["id"] == [row.trial_id for row in diagnosis.left_out]
    assert [gain["n"] for gain in found["gains"]] == [10, 25]
    low, high = ModelView(opt).window
    assert max(found["left_out"]["high"]) <= high + (high - low) + 1e-6


def test_what_is_next_has_its_prediction_and_reasons_in_plain_sentences(tmp_path: Path) -> None:
    with lab(tmp_path / "lab.db") as study:
        opt = study.optimizer()
        waiting = analysis_payload(opt)["next"]
    assert [n["id"] for n in waiting] == [t.id for t in opt.pending]
    now = ModelView(opt).at([t.params for t in opt.pending])
    assert [n["mean"] for n in waiting] == pytest.approx(now.mean.tolist(), rel=1e-4)
    for n in waiting:
        assert all(line[0].isupper() and line.endswith(".") for line in n["why"])
        assert any("rests on these: without trial" in line for line in n["why"])
        assert "base" not in words(n) and "maxim" not in words(n)


def test_a_minimisation_speaks_of_no_maxima_and_categoricals_of_no_steering(tmp_path: Path) -> None:
    with lab(tmp_path / "lab.db") as study:
        assert "maxim" not in words(analysis_payload(study))
    mixed = run(Optimizer(MIXED, seed=0), 24)
    mixed.ask(2)
    for n in analysis_payload(mixed)["next"]:
        assert "Credit did not act on this choice." in n["why"]


def test_influence_is_told_beside_credit() -> None:
    opt = run(Optimizer(MIXED, seed=0), 24)
    found, exact = analysis_payload(opt)["influence"], opt.influence()
    assert [c["id"] for c in found["chapters"]] == [row.trial_id for row in exact.ranked() if row.worth > 0][:5]
    assert found["chapters"][0]["share"] == 1.0


def test_a_surrogate_without_covariances_has_a_page_all_the_same() -> None:
    opt = run(Optimizer(MIXED, seed=0, surrogate="forest"), 16)
    opt.ask()
    found = analysis_payload(opt)
    assert found["influence"] is None and found["believe"]["gains"] == [] and found["next"][0]["mean"] is not None


def test_advice_comes_before_the_pictures() -> None:
    credits, advice, everything = analysis_stages(run(Optimizer(MIXED, seed=0), 16))
    assert "believe" not in credits and "maps" not in advice
    assert {"believe", "next", "influence", "maps", "over_time"} <= everything.keys()


def test_the_page_knows_what_was_dropped_noted_and_when(tmp_path: Path) -> None:
    with lab(tmp_path / "lab.db") as study:
        data = embedded(report_html(study))
        times = study.times()
    trials = data["study"]["trials"]
    assert data["file"] == "lab.db"
    assert (trials["dropped"], trials["note"], trials["tags"]) == (
        {"3": True},
        {"7": "repeat it"},
        {"7": ["kim", "batch-2"]},
    )
    assert trials["asked_at"] == [round(times[i][0], 1) for i in trials["id"]]
    assert trials["told_at"][24] is None and trials["told_at"][0] is not None
    assert data["analysis"]["of"] == 21


def test_a_trial_outside_a_changed_space_says_why(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", {"x": Float(0.0, 1.0), "kind": ["a", "b"]}, seed=0) as study:
        study.tell({"x": 0.5, "kind": "b"}, 1.0)
        study.tell({"x": 0.2, "kind": "a"}, 2.0)
        study.change_space({"x": Float(0.0, 1.0), "kind": ["a", "c"]})
        opt = study.optimizer()
        outside = study_payload("s", opt.space, opt.direction, opt.trials)["trials"]["outside"]
    assert list(outside) == [0] and "kind" in outside[0]


def test_settings_that_were_really_used_may_lie_beyond_the_bounds() -> None:
    opt = Optimizer(SPACE, seed=0)
    for i in range(14):
        trial = opt.ask()
        used = {"temperature": 95.0} if i == 13 else None
        opt.tell(trial, (used or trial.params)["temperature"], params=used)
    found = analysis_payload(opt)
    assert found["recommended"]["id"] == opt.recommend().trial_id
    assert (len(found["maps"]), len(found["slices"])) == (1, 2)
    assert [c["kind"] for c in found["believe"]["concerns"]].count("bound") <= 1
    assert study_payload("s", opt.space, opt.direction, opt.trials)["trials"]["outside"] == {}
    assert len(plot_parallel(opt).lines) >= 14


def test_an_optimizer_in_memory_knows_no_times() -> None:
    opt = run(Optimizer(MIXED, seed=0), 8)
    assert study_payload("s", opt.space, opt.direction, opt.trials)["trials"]["told_at"] == [None] * 8


# -- in a browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lab")
    with lab(folder / "lab.db") as study:
        return write_report(study, folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("lab") / "lab.db"
    lab(path).close()
    with serving(path) as client:
        yield client.address


def card(page: Browser, title: str) -> str:
    """The words of a card."""
    found: str = page.js(
        "[...document.querySelectorAll('.card h2')].find(h => h.textContent.startsWith(arguments[0]))"
        ".parentNode.innerText",
        title,
    )
    return found


def choose(page: Browser, label: str, option: str) -> None:
    page.js(
        "(s => { s.selectedIndex = [...s.options].findIndex(o => o.textContent === arguments[1]); "
        "s.dispatchEvent(new Event('change')); return true })"
        "(document.querySelector(`select[aria-label='${arguments[0]}']`))",
        label,
        option,
    )


@pytest.mark.heavy
def test_the_cards_say_what_to_do(page: Browser, report: str) -> None:
    page.scheme("light")
    page.open(report)
    page.says("#title", "brew")
    assert page.js("document.title") == "brew · lab.db · ccgbo"
    page.whole_page(1600)
    assert "Trial 24 · expected" in card(page, "Next") and "Another 10 evaluations" in card(page, "Next")
    assert "how much lower the value" in card(page, "Next")
    page.js("document.querySelector('.waiting summary').click() || true")
    assert "rests on these" in card(page, "Next")
    assert "from the others, the model explains" in card(page, "Believe the model?")
    assert "Credit ranks the evaluations" in card(page, "Here, because of these")
    assert "Without it" in card(page, "Not there, because of those")
    assert page.complaints() == []


@pytest.mark.heavy
def test_far_off_values_do_not_squash_the_progress(page: Browser, report: str) -> None:
    page.open(report)
    page.whole_page(1600)
    top = "document.querySelector('[aria-label=\"values and the best so far\"]').layout.yaxis.range"
    assert page.js(top)[1] < 100.0
    assert "far-off value" in card(page, "Progress") and "dropped, or outside" in card(page, "Progress")
    choose(page, "values shown", "all")
    page.whole_page(1600)
    y = "Math.max(...document.querySelector('[aria-label=\"values and the best so far\"]').data[1].y)"
    assert page.js(y) > 1000.0 and "far-off value" not in card(page, "Progress")
    choose(page, "progress by", "time")
    page.whole_page(1600)
    axis = "document.querySelector('[aria-label=\"values and the best so far\"]').layout.xaxis.type"
    assert page.js(axis) == "date"


@pytest.mark.heavy
def test_the_table_shows_what_was_dropped_given_up_and_noted(page: Browser, report: str) -> None:
    page.open(report)
    row = (
        "[...document.querySelector(`#trials tbody tr:nth-child(${arguments[0]})`).cells].map(c => c.innerText.trim())"
    )
    assert page.js(row, 4)[1] == "dropped"
    assert page.js(row, 8)[-1].startswith("repeat it #kim #batch-2")
    assert page.js(row, 27)[1] == "abandoned"
    assert "1 abandoned · 1 dropped" in page.text(".tile:nth-child(3) .more")


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1600, 400])
def test_nobody_is_kept_out_of_the_report(page: Browser, report: str, scheme: str, width: int) -> None:
    page.scheme(scheme)
    page.open(report)
    page.whole_page(width)
    assert page.barriers() == []
    assert page.layout_faults() == []


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1600, 400])
def test_nobody_is_kept_out_of_the_dashboard(page: Browser, live: str, scheme: str, width: int) -> None:
    page.scheme(scheme)
    page.open(live)
    page.says("#views", "Without it")  # the analysis is there
    page.says("#file", "lab.db")
    page.whole_page(width)
    assert page.barriers() == []
    assert page.layout_faults() == []
    page.open("about:blank")


@pytest.mark.heavy
def test_the_plots_follow_the_scheme_of_the_reader(page: Browser, report: str) -> None:
    page.scheme("light")
    page.open(report)
    page.whole_page(1600)
    ink = "document.querySelector('.plot').layout.font.color"
    before = page.js(ink)
    page.scheme("dark")
    page.whole_page(1600)
    wait_for(lambda: page.js(ink) != before)
    assert page.js("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
    page.scheme("light")
