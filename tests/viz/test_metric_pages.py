"""Report and dashboard of several objectives and outcome constraints: data, sentences, forms and pictures."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccgbo import Optimizer
from ccgbo.metrics import feasible
from ccgbo.study import Study
from ccgbo.viz import ModelView, write_report
from ccgbo.viz.payload import analysis_payload, improvements, study_payload
from ccgbo.viz.report import report_html
from ccgbo.viz.story import credit_story

from .browser import Browser
from .conftest import Client, serving, wait_for
from .metric_runs import BENCH, CHEMISTRY, constrained, run_chemistry, three_objectives, two_objectives
from .test_dashboard_by_hand import press, type_in
from .test_report import embedded


def payload(opt: Optimizer) -> dict[str, Any]:
    return study_payload("lab", opt.space, opt.metrics, opt.trials)


# -- data


def test_the_trials_have_a_column_for_each_metric_and_say_whether_they_are_feasible() -> None:
    opt = two_objectives()
    found = payload(opt)
    assert found["metrics"]["names"] == ["yield", "cost", "impurity"]
    assert found["metrics"]["constraints"] == {"impurity": {"low": None, "high": 0.6, "text": "<= 0.6"}}
    for name, column in zip(found["metrics"]["names"], found["trials"]["values"], strict=True):
        assert column == [t.values.get(name) for t in opt.trials]
    kept = {t.id: feasible(t.values, opt.metrics) for t in opt.trials if t.state == "complete"}
    assert found["trials"]["feasible"] == {i: known for i, known in kept.items() if known is not None}
    assert found["front"] == [t.id for t in opt.pareto_front()]
    assert found["hypervolume"]["value"] == pytest.approx(float(opt.hypervolume()), rel=1e-5)
    assert found["hypervolume"]["steps"][-1][1] == found["hypervolume"]["value"]
    assert found["best"] is None


def test_one_value_has_neither_metrics_nor_a_front(finished: Optimizer) -> None:
    found = payload(finished)
    assert (found["metrics"], found["front"], found["hypervolume"]) == (None, [], None)
    assert (found["trials"]["values"], found["trials"]["feasible"]) == ([], {})
    assert "by_metric" not in analysis_payload(finished)


def test_the_best_of_a_constrained_study_is_feasible_and_so_is_its_progress() -> None:
    opt = constrained()
    assert payload(opt)["best"] == opt.best_trial.id
    steps = improvements(opt.trials, opt.metrics)
    assert steps[-1][1] == opt.best_value
    values = [value for _, value in steps]
    assert values == sorted(values, reverse=True)


def test_the_analysis_has_the_model_of_every_metric_and_the_credits_of_all_trials() -> None:
    opt = two_objectives()
    found = analysis_payload(opt)
    rows = {row.trial_id: row.credit for row in opt.credits()}
    assert dict(zip(found["credits"]["id"], found["credits"]["credit"])) == pytest.approx(rows, abs=1e-4)
    assert list(found["by_metric"]) == ["yield", "cost", "impurity"]
    for name, own in found["by_metric"].items():
        told = [t.values[name] for t in opt.observations if name in t.values]
        assert own["believe"]["left_out"]["value"] == pytest.approx(told, rel=1e-5)
        cut = ModelView(opt, metric=name).slice(own["slices"][0]["x"]["name"], m=61)
        assert own["slices"][0]["layers"]["mean"] == pytest.approx(cut.layers.mean.tolist(), rel=1e-3)
        assert [s["x"]["name"] for s in own["slices"]] == [s["x"]["name"] for s in found["slices"]]
    assert "feasibility" in found["maps"][0]["layers"]
    assert found["proxy"] is None
    assert [r["id"] for r in found["recommended_set"]] == [r.trial_id for r in opt.recommend()]
    on_front = [i for i, on in zip(found["front"]["id"], found["front"]["on_front"], strict=True) if on]
    assert on_front == [t.id for t in opt.pareto_front()]


def test_what_is_next_has_every_metric_and_the_probability_of_being_feasible() -> None:
    opt = run_chemistry(Optimizer(BENCH, **CHEMISTRY, seed=0), 11)
    trial = opt.ask()
    (said,) = analysis_payload(opt)["next"]
    now = ModelView(opt).at([trial.params])
    assert said["metrics"]["yield"][0] == pytest.approx(float(now.mean[0]), rel=1e-5)
    assert said["feasibility"] == pytest.approx(float(now.feasibility[0]), rel=1e-2)
    assert any("keeps every outcome constraint" in line for line in said["why"])


def test_what_the_engine_refuses_is_a_plain_sentence() -> None:
    found = analysis_payload(constrained())
    said = found["only_plain"]
    assert [gain["n"] for gain in found["believe"]["gains"]] == [10, 25]
    assert said["influence"].startswith("What each experiment is worth is told for one objective without outcome")


def test_the_credit_story_speaks_of_the_front_or_of_the_feasible_optimum() -> None:
    front, optimum = (credit_story(ModelView(opt)) for opt in (two_objectives(), constrained()))
    assert front.headline == "These five experiments carry the most information about the front, because …"
    assert "about the feasible optimum, which the model estimates at" in optimum.headline
    first = front.chapters[0]
    best = max(two_objectives().credits(), key=lambda row: row.credit)
    assert (first.trial_id, first.values) == (best.trial_id, best.values)
    assert math.isnan(first.value)
    assert any(reason.startswith("it keeps every outcome constraint with probability") for reason in first.because)
    assert "yield" in str(first)


def test_a_metric_that_comes_late_is_left_out_until_it_is_measured() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, **CHEMISTRY, seed=0)
    for x in (0.1, 0.4, 0.6, 0.9):
        opt.tell({"x": x}, {"yield": x, "cost": x * x})
    found = analysis_payload(opt)
    assert list(found["by_metric"]) == ["yield", "cost"]
    assert payload(opt)["front"] == []  # nobody knows whether any of them is feasible
    assert found["front"]["feasible"] == [True] * 4  # as far as is known


def test_the_report_says_how_to_make_named_metrics_again() -> None:
    code = embedded(report_html(two_objectives()))["reproduction"]["code"]
    goal = "objectives={'yield': 'maximize', 'cost': 'minimize'}, outcome_constraints={'impurity': AtMost(0.6)}"
    assert goal in code
    assert '[t["values"] for t in told]' in code


# -- pages


def faults(page: Browser, path: Path, width: int) -> list[str]:
    page.open(path.as_uri())
    page.whole_page(width)
    return page.layout_faults()


def text_of(page: Browser, title: str) -> str:
    """What stands in the card of that title."""
    is_it = "(c => c.checkVisibility() && c.querySelector('h2').textContent === arguments[0])"
    found: str = page.js(f"([...document.querySelectorAll('.card')].find{is_it} || {{}}).textContent || ''", title)
    return found


def choose(page: Browser, label: str, option: str) -> None:
    """What somebody does with a select."""
    script = (
        "(s => { s.selectedIndex = [...s.options].findIndex(o => o.textContent === arguments[1]);"
        " s.dispatchEvent(new Event('change')); })(document.querySelector(`select[aria-label=\"${arguments[0]}\"]`))"
    )
    page.js(script, label, option)


@pytest.mark.heavy
@pytest.mark.parametrize("width", [400, 1600])
def test_the_report_of_several_objectives_is_whole_and_open_to_all(page: Browser, tmp_path: Path, width: int) -> None:
    opt = run_chemistry(Optimizer(BENCH, **CHEMISTRY, seed=0), 13)
    opt.ask()
    path = write_report(opt, tmp_path / "report.html")
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        assert faults(page, path, width) == []
        assert page.barriers() == []
    page.scheme("light")
    for title in ("Front", "Hypervolume", "Feasibility", "All evaluations", "Recommended", "Believe the model?"):
        assert text_of(page, title)
    assert text_of(page, "Progress") == ""
    assert "% of the hypervolume" in text_of(page, "Next")
    assert "is told for one objective" in text_of(page, "Not there, because of those: what each is worth")
    head = page.js("[...document.querySelectorAll('#trials th')].map(e => e.textContent)")
    assert head[:7] == ["trial", "state", "yield", "cost", "impurity", "feasible", "credit"]
    assert page.complaints() == []


@pytest.mark.heavy
def test_the_plot_of_the_front_has_every_trial_in_its_place(page: Browser, tmp_path: Path) -> None:
    opt = two_objectives()
    page.open(write_report(opt, tmp_path / "report.html").as_uri())
    page.whole_page(1400)
    traces = page.js(
        "document.querySelector('[aria-label^=\"trials over two objectives\"]').data.map(t => [t.name, t.x, t.y])"
    )
    drawn = {name: np.sort(np.array([x, y]).T, axis=0) for name, x, y in traces}
    front = np.sort(np.array([[t.values["yield"], t.values["cost"]] for t in opt.pareto_front()]), axis=0)
    assert drawn["front"] == pytest.approx(front, rel=1e-4)
    assert len(drawn["infeasible"]) == sum(feasible(t.values, opt.metrics) is False for t in opt.observations)
    assert sum(map(len, drawn.values())) == len(opt.observations)


@pytest.mark.heavy
def test_choosing_a_metric_changes_every_card_that_shows_one(page: Browser, tmp_path: Path) -> None:
    opt = two_objectives()
    page.open(write_report(opt, tmp_path / "report.html").as_uri())
    page.whole_page(1400)
    for name in ("impurity", "cost"):
        choose(page, "metric, believe the model", name)
        left_out = opt.diagnose(name)
        wait_for(lambda left_out=left_out: left_out.summary()[0] in text_of(page, "Believe the model?"))
        selects = "[...document.querySelectorAll('select[aria-label^=\"metric,\"]')]"
        chosen = page.js(f"{selects}.map(s => s.selectedOptions[0].textContent)")
        assert chosen == [name] * 5
    bars = "document.querySelector('[aria-label=\"how many evaluations gave which value\"]').data[0]"
    costs = [t.values["cost"] for t in opt.observations]
    wait_for(lambda: min(costs) - 0.5 < page.js(f"{bars}.x")[0] < max(costs))
    assert sum(page.js(f"{bars}.y")) == len(costs)


@pytest.mark.heavy
def test_three_objectives_offer_every_pair(page: Browser, tmp_path: Path) -> None:
    page.open(write_report(three_objectives(), tmp_path / "report.html").as_uri())
    page.whole_page(1400)
    choose(page, "objective across", "b")  # which was up: the other moves on
    plot = "document.querySelector('[aria-label^=\"trials over two objectives\"]')"
    wait_for(lambda: page.js(f"{plot}.layout.xaxis.title.text") == "b")
    assert page.js(f"{plot}.layout.yaxis.title.text") == "c"
    assert text_of(page, "Feasibility") == ""
    assert page.complaints() == []


@pytest.mark.heavy
def test_progress_of_a_constrained_run_marks_the_infeasible(page: Browser, tmp_path: Path) -> None:
    opt = constrained()
    page.open(write_report(opt, tmp_path / "report.html").as_uri())
    page.whole_page(1400)
    best, dots = page.js("document.querySelector('[aria-label=\"values and the best so far\"]').data.slice(0, 2)")
    assert best["y"][-1] == opt.best_value
    kept = [feasible(t.values, opt.metrics) for t in opt.observations]
    words = {True: "circle", False: "x", None: "circle-open"}
    symbols = dots["marker"]["symbol"]
    assert [s for s in symbols if "triangle" not in s] == [
        words[k] for k, s in zip(kept, symbols) if "triangle" not in s
    ]
    assert "best feasible value" in page.text(".tiles")
    assert text_of(page, "Front") == ""


@pytest.mark.heavy
def test_hostile_names_of_metrics_stay_text(page: Browser, tmp_path: Path) -> None:
    names = ["</script><script>pwned()</script>", "constructor"]
    opt = Optimizer({"x": (0.0, 1.0)}, objectives=dict.fromkeys(names, "maximize"), seed=0)
    for x in np.linspace(0.0, 1.0, 8):
        opt.tell({"x": float(x)}, {names[0]: float(x), names[1]: float(1.0 - x * x)})
    page.open(write_report(opt, tmp_path / "report.html").as_uri())
    page.whole_page(1400)
    assert all(name in page.text("#trials") for name in names)
    assert page.complaints() == []  # to call what is not there would be one


# -- the dashboard


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("metrics") / "lab.db"
    with Study(path, BENCH, name="lab", **CHEMISTRY, seed=0) as study:
        run_chemistry(study, 12)
        study.ask()
    return path


@pytest.fixture
def lab(template: Path, tmp_path: Path) -> Path:
    """A file with the study ``lab`` of 13 trials, the last of them pending."""
    return Path(shutil.copy(template, tmp_path / "lab.db"))


@pytest.fixture
def client(lab: Path) -> Iterator[Client]:
    with serving(lab) as found:
        yield found


def trial(path: Path, i: int) -> Any:
    with Study(path) as study:
        return study.trials[i]


def test_several_values_are_told_and_amended_by_requests(client: Client, lab: Path) -> None:
    body = {"value": {"yield": [70, 72], "cost": 3.5}, "standard_error": {"cost": 0.1}}
    status, answer = client.post("/api/tell", {"study": "lab", "trial": 12, **body})
    assert (status, answer["values"]) == (200, {"yield": 71.0, "cost": 3.5})
    told = trial(lab, 12)
    assert told.metrics["yield"].readings == (70.0, 72.0)
    assert told.metrics["cost"].noise_variance == pytest.approx(0.01)
    status, answer = client.post("/api/amend", {"study": "lab", "trial": 12, "value": {"impurity": 0.2, "cost": None}})
    assert (status, answer["values"]) == (200, {"yield": 71.0, "impurity": 0.2})
    _, shown = client.get("/api/study?study=lab")
    assert shown["trials"]["values"][2][12] == 0.2
    assert shown["trials"]["feasible"]["12"] is True
    assert shown["trials"]["measured"]["12"] == {"yield": {"readings": [70.0, 72.0]}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"value": {"yeild": 1.0}}, "there is no metric 'yeild': did you mean 'yield'?"),
        ({"value": {"yield": "much"}}, "value['yield'] must be a finite number, got 'much'."),
        ({"value": {"yield": []}}, "value['yield'] must be a finite number or a list of them, got []."),
        ({"value": {"yield": None}}, "value must have a metric that was measured"),
        ({"value": {}}, "value must have a metric that was measured"),
        ({"value": {"yield": 1}, "standard_error": {"cost": 1}}, "standard_error has 'cost', of which value tells"),
        ({"value": {"yield": 1}, "standard_error": 1}, "standard_error must be an object where value is one, got 1."),
        (
            {"value": {"yield": 1}, "standard_error": {"yield": -1}},
            "standard_error['yield'] must be a finite number >= 0",
        ),
        ({"value": 1.0}, "value must be a mapping of the metrics"),
    ],
)
def test_values_that_cannot_be_meant_are_refused_by_name(
    client: Client, lab: Path, body: dict[str, Any], words: str
) -> None:
    status, answer = client.post("/api/tell", {"study": "lab", "trial": 12, **body})
    assert status == 400
    assert words in answer["error"]
    assert trial(lab, 12).state == "pending"


def test_metrics_of_one_value_are_refused(dashboard: Client) -> None:
    status, answer = dashboard.post("/api/tell", {"study": "net", "trial": 13, "value": {"yield": 1.0}})
    assert status == 400
    assert "value must be one number" in answer["error"]


def test_a_page_gets_the_values_and_the_front_that_changed(client: Client) -> None:
    _, before = client.get("/api/study?study=lab")
    values = {"yield": 99.0, "cost": 0.5, "impurity": 0.1}
    assert client.post("/api/tell", {"study": "lab", "trial": 12, "value": values})[0] == 200
    news = wait_for(lambda: _news(client, before["revision"]))
    assert news["trials"]["id"] == [12]
    assert news["trials"]["values"] == [[99.0], [0.5], [0.1]]
    assert news["front"] == [12]


def _news(client: Client, since: str) -> dict[str, Any] | None:
    _, found = client.get(f"/api/study?study=lab&since={since}")
    return found if found["trials"]["id"] else None


def test_other_metrics_start_the_page_anew(client: Client, lab: Path) -> None:
    _, before = client.get("/api/study?study=lab")
    with Study(lab) as study:
        study.change_metrics(outcome_constraints={})
    after = wait_for(lambda: (lambda s: s if s["revision"] != before["revision"] else None)(_study(client, before)))
    assert after["since"] is None
    assert after["metrics"]["constraints"] == {}


def _study(client: Client, before: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/study?study=lab&since={before['revision']}")[1]
    return found


def test_studies_of_several_objectives_are_not_compared_by_a_best_value(client: Client) -> None:
    _, found = client.get("/api/comparison")
    (lab,) = found["studies"]
    assert lab["steps"] == []
    assert list(lab["metrics"]["objectives"]) == ["yield", "cost"]


@pytest.mark.heavy
def test_the_forms_take_a_value_for_each_metric_and_none_where_it_is_empty(page: Browser, lab: Path) -> None:
    with serving(lab) as client:
        page.resize(1400)
        page.complaints()
        page.open(client.address)
        page.says("#live", "live")
        press(page, "Tell")
        page.says(".message", "At least one metric must have a value.")
        assert page.focused() == "value-12-m0"
        type_in(page, "#value-12-m0", "71,5")
        type_in(page, "#value-12-m1", "3.2 3.4")
        press(page, "Tell")
        page.says(".message", "Trial 12 has yield 71.5, cost 3.3.")
        assert trial(lab, 12).values == {"yield": 71.5, "cost": pytest.approx(3.3)}
        wait_for(lambda: "71.5" in page.text("#trials") and "not known" in page.text("#trials"))
        press(page, "change trial 12")
        type_in(page, "#amend-m2", "0.7")
        page.find("#amend-m1").clear()
        type_in(page, "#amend-m1", "3.6")
        wait_for(lambda: "impurity nothing → 0.7" in page.text("#changes"))
        assert "cost 3.2, 3.4 → 3.6" in page.text("#changes")
        assert "yield" not in page.text("#changes")
        press(page, "Amend trial 12")
        page.says(".message", "Trial 12 has yield 71.5, cost 3.6, impurity 0.7 now.")
        assert trial(lab, 12).values == {"yield": 71.5, "cost": 3.6, "impurity": 0.7}
        assert trial(lab, 12).metrics["cost"].readings == ()
        assert page.barriers() == []
        assert page.complaints() == []
        page.open("about:blank")


@pytest.mark.heavy
def test_a_point_from_elsewhere_is_told_with_all_its_metrics(page: Browser, lab: Path) -> None:
    with serving(lab) as client:
        page.resize(400)
        page.open(client.address)
        page.says("#live", "live")
        page.find("#more > summary")
        page.js("document.querySelector('#more').open = true")
        type_in(page, "#p-0", "0.3")
        type_in(page, "#p-1", "0.1")
        page.find("#p-2").send_keys("a")
        for j, value in enumerate(("68", "3.7", "0.12")):
            type_in(page, f"#p-value-m{j}", value)
        press(page, "Tell this point")
        page.says(".message", "Told as trial 13.")
        told = trial(lab, 13)
        assert told.values == {"yield": 68.0, "cost": 3.7, "impurity": 0.12}
        assert json.loads(json.dumps(told.params)) == {"x": 0.3, "y": 0.1, "solvent": "a"}
        assert page.layout_faults() == []
        page.open("about:blank")
