"""The report: complete in one file, true to the study, and deaf to hostile text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ccgbo
from ccgbo import Float, Optimizer, StorageError
from ccgbo.study import Study
from ccgbo.viz import ModelView
from ccgbo.viz.assets import VIEWS
from ccgbo.viz.cli import report as report_command
from ccgbo.viz.log import log_payload
from ccgbo.viz.payload import analysis_payload, study_payload, to_json
from ccgbo.viz.report import fill, inline_json, report_html, write_report
from ccgbo.viz.reproduction import reproduction
from ccgbo.viz.story import credit_story

from .browser import chromium
from .conftest import MIXED, run, wait_for

HOSTILE = [
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "\"'><svg onload=window.pwned=1> \u2028",
    "<a href='javascript:window.pwned=1'>x</a> & %{customdata} $x$ {{secret}}",
]
BOLD = "<b>fat</b>"  # a label that plotly would set in bold
LABELS = "[...document.querySelectorAll('.plot')].map(e => e.textContent).join()"


def hostile_study(path: Path) -> Study:
    """Every text a user can set, set by somebody unfriendly."""
    study = Study(path, {HOSTILE[0]: (0.0, 1.0), HOSTILE[1]: [HOSTILE[2], BOLD]}, name=HOSTILE[3], seed=0)
    for i in range(13):
        trial = study.ask()
        if i == 3:
            study.tell(trial, failed=True, error=HOSTILE[1])
        else:
            study.tell(trial, trial.params[HOSTILE[0]])
    return study


def embedded(html: str) -> dict[str, Any]:
    """The data a report carries, read as a browser would."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_report_has_every_trial_the_best_and_the_recommended_point(finished: Optimizer) -> None:
    data = embedded(report_html(finished))
    trials = data["study"]["trials"]
    assert trials["id"] == [t.id for t in finished.trials]
    assert trials["value"] == [t.value for t in finished.trials]
    assert trials["error"] == {"5": "it exploded"}
    assert data["study"]["best"] == finished.best_trial.id
    assert data["analysis"]["recommended"]["id"] == finished.recommend().trial_id
    credits = data["analysis"]["credits"]
    rows = {row.trial_id: row.credit for row in finished.credits()}
    assert dict(zip(credits["id"], credits["credit"])) == pytest.approx(rows, abs=1e-4)


def test_the_report_loads_nothing_from_anywhere(finished: Optimizer) -> None:
    html = report_html(finished)
    markup = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert re.findall(r"<script[^>]*\ssrc=|<link[^>]*href=\"(?!data:)|@import|url\(", markup) == []
    assert "default-src 'none'" in markup


def test_five_hundred_trials_stay_below_five_megabytes(tmp_path: Path) -> None:
    space = {f"parameter {i}": Float(0.0, 1.0) for i in range(10)}
    opt = Optimizer(space, seed=0, tuning={"max_iterations": 3})
    U = np.random.default_rng(0).random((490, 10))
    opt.tell_many([dict(zip(space, map(float, u))) for u in U], -((U - 0.4) ** 2).sum(axis=1))
    for _ in range(10):
        trial = opt.ask()
        opt.tell(trial, sum(trial.params.values()))
    path = write_report(opt, tmp_path / "report.html")
    assert path.stat().st_size < 5e6
    data = embedded(path.read_text(encoding="utf-8"))
    assert len(data["study"]["trials"]["id"]) == 500
    assert len(data["analysis"]["maps"]) == 6  # four parameters against each other


def test_hostile_text_cannot_end_the_data_nor_fill_the_template(tmp_path: Path) -> None:
    with hostile_study(tmp_path / "h.db") as study:
        html = report_html(study)
    data = embedded(html)
    assert [p["name"] for p in data["study"]["parameters"]] == HOSTILE[:2]
    assert data["study"]["name"] == HOSTILE[3]
    assert len(re.findall(r"<script\b", html)) == 2 + len(VIEWS)  # the data, and all of ours
    assert inline_json({"a": "</script><!--\u2028"}) == '{"a":"\\u003c/script>\\u003c!--\\u2028"}'
    assert fill("a {{x}} b {{y}}", {"x": "{{y}}", "y": "1"}) == "a {{y}} b 1"


def test_the_report_has_the_latest_of_what_was_changed_by_hand(tmp_path: Path) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0)
    opt.tell({"x": 0.5}, 6.82)
    opt.amend(0, 68.2, note="a typo")
    opt.drop(0, note="old catalyst")
    for source in (opt, hostile_study(tmp_path / "h.db")):
        if isinstance(source, Study):
            source.annotate(0, note=HOSTILE[0])
        log = embedded(report_html(source))["study"]["log"]
        assert log["count"] == len(source.log())
        assert [e["action"] for e in log["events"]] == [e.action for e in reversed(source.log())]
    event = log_payload(opt.log() * 300)
    assert (event["count"], len(event["events"])) == (600, 500)
    assert event["events"][0]["note"] == "old catalyst"
    assert event["events"][1]["changes"] == ["value 6.82 -> 68.2", "note a typo"]


def test_a_report_before_any_value_says_so() -> None:
    opt = Optimizer(MIXED, seed=0)
    opt.ask()
    assert "no observation yet" in embedded(report_html(opt))["analysis"]["message"]


def test_numbers_that_json_has_not_are_left_out() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0, step=0.5)}, seed=0)
    opt.tell({"x": 0.5, "y": 0.5}, float("inf"))
    for i in range(6):
        opt.tell({"x": i / 6, "y": 0.0}, 1.0)
    text = to_json([analysis_payload(opt), study_payload("s", opt.space, opt.direction, opt.trials)])
    assert json.loads(text)[1]["trials"]["value"][0] is None


def test_one_parameter_has_slices_and_no_map() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0)}, seed=0)
    for i in range(8):
        opt.tell({"x": i / 8}, -abs(i / 8 - 0.5))
    analysis = analysis_payload(opt)
    assert [s["x"]["name"] for s in analysis["slices"]] == ["x"]
    assert analysis["maps"] == []


BRANCHES = {  # learning_rate and C are never active together
    "model": ["trees", "svm"],
    "learning_rate": Float(0.01, 1.0, log=True, active_if={"model": "trees"}),
    "C": Float(0.1, 100.0, log=True, active_if={"model": "svm"}),
    "gamma": Float(0.01, 1.0, log=True, active_if={"model": "svm"}),
    "temperature": Float(0.0, 1.0),
}


def branched(n: int = 24) -> Optimizer:
    """Minimised; every eighth fails, three are pending."""
    opt = Optimizer(BRANCHES, direction="minimize", seed=0)
    for i in range(n):
        trial = opt.ask()
        if i % 8 == 7:
            opt.tell(trial, failed=True, error="exit status 1\nboiled over")
        else:
            rate = trial.params.get("learning_rate", trial.params.get("C", 1.0))
            opt.tell(trial, abs(np.log10(rate)) + trial.params["temperature"])
    opt.ask(3)
    return opt


def test_maps_are_of_parameters_that_are_active_together() -> None:
    maps = analysis_payload(branched())["maps"]
    pairs = {frozenset((m["x"]["name"], m["y"]["name"])) for m in maps}
    assert pairs
    assert not any("learning_rate" in pair and pair & {"C", "gamma"} for pair in pairs)


def many(n: int, model: int) -> Optimizer:
    """n told points, of which the model takes some."""
    opt = Optimizer(
        {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0, tuning={"max_points": model, "fit_points": 100}
    )
    U = np.random.default_rng(0).random((n, 2))
    opt.tell_many([{"x": float(x), "y": float(y)} for x, y in U], -((U - 0.4) ** 2).sum(axis=1))
    return opt


def test_of_many_observations_the_credits_over_time_have_those_with_the_most() -> None:
    analysis = analysis_payload(many(1500, 700))
    history = analysis["over_time"]
    assert (analysis["n"], analysis["of"], history["of"], len(history["id"])) == (700, 1500, 1500, 600)
    assert history["id"] == sorted(history["id"])
    assert len(history["credit"]) == 600
    known = dict(zip(analysis["credits"]["id"], analysis["credits"]["credit"]))
    assert max(known, key=lambda i: known[i]) in history["id"]


# -- the story


def test_the_story_names_the_most_credited_experiments_in_order(finished: Optimizer) -> None:
    story = credit_story(ModelView(finished))
    rows = sorted(finished.credits(), key=lambda row: -row.credit)[:5]
    assert [c.trial_id for c in story.chapters] == [row.trial_id for row in rows]
    assert story.headline.startswith("These five experiments carry the most information about the optimum")
    assert "because" in story.headline


def test_the_story_gives_the_numbers_of_the_method(finished: Optimizer) -> None:
    view = ModelView(finished)
    top = int(view.credits.argmax())
    first = credit_story(view).chapters[0]
    mean, std = (float(part[top]) for part in view.observed)
    assert any(f"predicts {mean:.4g} ± {std:.2g}" in reason for reason in first.because)
    assert any(f"{view.gap[top]:.1f} standard deviations" in reason for reason in first.because)
    assert any("the likeliest of all" in reason for reason in first.because)


def test_the_story_counts_the_suggestions_that_leant_on_an_experiment(finished: Optimizer) -> None:
    story = credit_story(ModelView(finished), top=30)
    leant = [n.trial_id for t in finished.trials if t.explanation for n in t.explanation.neighbours]
    for chapter in story.chapters:
        said = [r for r in chapter.because if "neighbour of" in r]
        assert bool(said) == (chapter.trial_id in leant)


def test_the_story_says_when_credit_is_off_or_says_nothing() -> None:
    off = Optimizer({"x": Float(0.0, 1.0)}, credit=False, seed=0)
    for i in range(8):
        off.tell({"x": i / 8}, float(i))
    assert "switched off" in credit_story(ModelView(off)).strength
    alone = Optimizer({"x": Float(0.0, 1.0)}, seed=0)
    alone.tell({"x": 0.5}, 1.0)
    assert "says nothing yet" in credit_story(ModelView(alone)).headline


def test_the_story_counts_the_suggestions_that_were_the_middle() -> None:
    opt = Optimizer({f"x{i}": (0.0, 1.0) for i in range(9)}, seed=0, n_initial=10, noise="none")
    for value in [*np.linspace(0.0, 1.0, 10), 2.0]:
        opt.tell(opt.ask(), float(value))
    assert "middle" not in credit_story(ModelView(opt)).strength
    for value in (-1.0, -2.0):  # a guess that failed, and the middle that followed
        opt.tell(opt.ask(), value)
    said = credit_story(ModelView(opt)).strength
    assert said.endswith(" Trial 12 was the middle of the most credited experiments of its time.")
    for value in (3.0, -1.0, -2.0):
        opt.tell(opt.ask(), value)
    assert " Two points, the last one trial 15, were the middle" in credit_story(ModelView(opt)).strength


# -- how to reproduce it


def test_the_code_under_reproduction_goes_on_with_the_study(study_path: Path) -> None:
    with Study(study_path) as study:
        how = reproduction(study.space, study.metrics, study.settings, study.name, study_path.name)
        before = len(study.trials)
        subprocess.run([sys.executable, "-c", how["code"]], check=True, cwd=study_path.parent)
        assert len(study.trials) == before + 1
    assert how["shell"] == ["ccgbo report tune.db --name net -o report.html"]
    assert set(how["versions"]) == {"python", "ccgbo", "numpy", "scipy"}


def test_the_code_under_reproduction_rebuilds_an_optimizer(finished: Optimizer, tmp_path: Path) -> None:
    how = embedded(report_html(finished))["reproduction"]
    (tmp_path / "space.json").write_text(how["space"], encoding="utf-8")
    rows = [{"state": t.state, "value": t.value, "params": dict(t.params)} for t in finished.trials]
    (tmp_path / "trials.json").write_text(json.dumps(rows), encoding="utf-8")
    code = how["code"] + "\nprint(opt.recommend().params)"
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True)
    best = finished.trials[finished.recommend().trial_id]
    assert done.stdout.strip() == str(dict(best.params))


def test_the_folder_of_the_study_stays_out_of_the_report(study_path: Path) -> None:
    with Study(study_path) as study:
        assert str(study_path.parent) not in report_html(study)


# -- the command


def test_the_command_writes_a_report_and_says_where(study_path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    done = CliRunner().invoke(report_command, [str(study_path), "-o", str(target)], catch_exceptions=False)
    assert done.output.startswith(f"wrote {target}")
    assert embedded(target.read_text(encoding="utf-8"))["title"] == "net"


def test_a_folder_that_is_not_there_is_named(finished: Optimizer, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write the report .*missing"):
        write_report(finished, tmp_path / "missing" / "r.html")


# -- in a browser


@pytest.mark.heavy
def test_the_report_opens_offline_and_shows_what_it_says(tmp_path: Path) -> None:
    opt = run(Optimizer(MIXED, seed=0), 60)
    path = write_report(opt, tmp_path / "report.html", title="A title")
    with chromium(tmp_path / "profile") as page:
        page.driver.execute_cdp_cmd("Network.enable", {})
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        page.open(path.as_uri())
        page.says("#title", "A title")
        assert len(page.js("[...document.querySelectorAll('ol.story:not(.worth) li')].map(e => e.textContent)")) == 5
        for width in (1600, 400):
            page.whole_page(width)
            assert page.layout_faults() == []
        page.whole_page(1400)
        hover = "Plotly.Fx.hover(arguments[0], [{curveNumber: 1, pointNumber: 3}]) || true"
        page.js(hover, page.find(".plot"))
        page.says(".hoverlayer", "credit")
        page.says(".hoverlayer", "trial 3")
        head = page.find("#trials th[data-key=credit] button")
        head.click()
        column = "[...document.querySelectorAll('#trials tbody tr')].map(r => r.cells[3].textContent)"
        credits = [float(c) for c in page.js(column) if c != "–"]
        assert credits == sorted(credits, reverse=True)
        assert len(page.js(column)) == 50  # the rest on the next page
        page.js("[...document.querySelectorAll('button')].find(b => b.textContent === 'next →').click() || true")
        assert len(page.js(column)) == 10
        assert page.complaints() == []


@pytest.mark.heavy
def test_the_report_of_a_branched_minimisation_says_only_what_is_true(tmp_path: Path) -> None:
    path = write_report(branched(), tmp_path / "report.html")
    select = "document.querySelector(`select[aria-label=${l}]`)"
    chosen = f"['across', 'up'].map(l => {select}).map(s => s.selectedOptions[0].textContent)"
    offered = "[...document.querySelector('select[aria-label=up]').options].map(o => o.textContent)"
    with chromium(tmp_path / "profile") as page:
        page.open(path.as_uri())
        tiles = page.js("[...document.querySelectorAll('.tile')].map(t => [...t.children].map(c => c.textContent))")
        assert tiles[2] == ["trials", "27", "21 complete · 3 pending · 3 failed"]
        assert tiles[3][2] == "mean of the minima of posterior paths"
        assert len(set(page.js(chosen))) == 2
        assert page.js("document.querySelector('.filling .note').textContent").startswith("The other parameters")
        for name in BRANCHES:
            page.js(
                f"(s => {{ s.selectedIndex = [...s.options].findIndex(o => o.textContent === '{name}'); "
                "s.dispatchEvent(new Event('change')) })(document.querySelector('select[aria-label=across]'))"
            )
            assert name not in page.js(offered)
            assert page.js(chosen)[0] == name
            assert page.js("document.querySelector('.filling .note').textContent").startswith("The other parameters")
        words = page.text("body")
        assert "steered" not in words
        assert "Credit did not act on this search: it is shown only." in words
        assert "with credit" not in page.js("document.querySelector('.small-plots').parentNode.textContent")
        layers = page.js(
            "[...document.querySelector('select[aria-label=\"what is shown\"]').options].map(o => o.value)"
        )
        assert len(layers) == 4
        note = page.find("#trials tbody tr:nth-child(24) td:last-child")
        assert note.text.split("\n") == ["exit status 1: boiled over", "why suggested?"]
        page.whole_page(400)
        ticks = "[...document.querySelector('[aria-label^=\"all trials in par\"]').querySelectorAll('.xtick text')]"
        names = page.js(f"{ticks}.filter(t => t.getBoundingClientRect().left >= 0).map(t => t.textContent)")
        assert names == [*BRANCHES, "value"]
        assert page.complaints() == []


@pytest.mark.heavy
def test_many_trials_are_thinned_in_the_plots_and_whole_in_the_table(tmp_path: Path) -> None:
    path = write_report(many(5000, 150), tmp_path / "report.html")
    with chromium(tmp_path / "profile") as page:
        page.open(path.as_uri())
        page.says(".thinned", "The plots show 1,800 of 5,000 evaluations: the best, the latest and every n-th")
        page.says(".thinned", "The model is of 150 of 5,000 observations")
        page.whole_page(1400)
        assert page.js("document.querySelector('.plot').data[1].x.length") == 1800
        assert page.js("document.querySelector('.plot').data[0].x.slice(-1)[0]") == 4999  # the line goes to the end
        page.says("#views", "1–50 of 5000")
        assert page.layout_faults() == []
        assert page.complaints() == []


@pytest.mark.heavy
def test_hostile_text_is_shown_and_does_not_run_in_the_report(tmp_path: Path) -> None:
    with hostile_study(tmp_path / "h.db") as study:
        path = write_report(study, tmp_path / "report.html")
    # the policy alone would stop a script: without it, the escaping has to
    text = re.sub(r"<meta http-equiv[^>]*>", "", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    with chromium(tmp_path / "profile") as page:
        page.open(path.as_uri())
        page.says("#title", HOSTILE[3])
        page.whole_page(1400)
        heads = page.js("[...document.querySelectorAll('#trials th')].map(e => e.textContent)")
        assert set(HOSTILE[:2]) <= set(heads)
        wait_for(lambda: HOSTILE[0][:27] in page.js(LABELS))  # long names are cut beside an axis
        wait_for(lambda: BOLD in page.js(LABELS))
        assert page.js("window.pwned") is None
        assert page.js("document.querySelectorAll('img, iframe, svg[onload], a[href^=javascript]').length") == 0


@pytest.mark.heavy
def test_a_failure_is_shown_in_one_line_and_every_choice_has_its_label(tmp_path: Path) -> None:
    def brew(x: float, solvent: str) -> float:
        if x > 0.7:
            raise ValueError("boiled over")
        return x + len(solvent)

    space = {"x": Float(0.0, 1.0), "solvent": ["water", "ethanol", "dimethyl sulfoxide"]}
    result = ccgbo.maximize(brew, space, 12, seed=0, progress=False)
    failed = next(i for i, t in enumerate(result.trials, 1) if t.state == "failed")
    with chromium(tmp_path / "profile") as page:
        page.open(write_report(result, tmp_path / "report.html").as_uri())
        note = page.find(f"#trials tbody tr:nth-child({failed}) td:last-child")
        assert note.text.split("\n") == ["ValueError: boiled over", "whole error"]
        note.find_element("css selector", "button").click()
        assert "Traceback (most recent call last)" in page.text("dialog pre")
        assert page.text("dialog h2") == f"How trial {failed - 1} failed"
        shown = "[...document.querySelectorAll('.small-plots .xtick text')].filter(t => t.style.display !== 'none'"
        shown += " && getComputedStyle(t).opacity !== '0').map(t => t.textContent)"
        wait_for(lambda: {"water", "ethanol", "dimethyl su…"} <= set(page.js(shown)))
