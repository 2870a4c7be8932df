"""Settings that cannot mislead: refused at once or working, one meaning however they are written, all documented."""

from __future__ import annotations

import ast
import inspect
import json
import math
import pickle
import pydoc
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ccgbo
from ccgbo import (
    CreditSettings,
    EngineTuning,
    FitSettings,
    LogNormal,
    LogNormalLengthscales,
    NormalOnLog,
    NormalOnLogLengthscales,
    Optimizer,
    Settings,
)
from ccgbo.acquisition import ACQUISITIONS
from ccgbo.credit.field import FIELDS
from ccgbo.engine import options as options_module
from ccgbo.engine import settings as presets_module
from ccgbo.engine.design import DESIGNS
from ccgbo.engine.options import OptimizerOptions, SettingsOptions, keywords_of
from ccgbo.engine.settings import FEW, MANY, resolve
from ccgbo.engine.settings_io import prior_from_dict, prior_to_dict, settings_from_dict, settings_to_dict
from ccgbo.surrogate.gp.kernels import KERNELS
from ccgbo.surrogate.outcome_transform import LOG_GAP, OUTCOMES
from ccgbo.validation import Above, AtLeast, Validated, check, choice, flag, number, optional_number, whole_number

ROOT = Path(__file__).parent.parent
BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
WRONG: list[Any] = [
    2.5, 1000.0, "a", "", "0.5", b"x", None, True, False, -1, -0.5, 0, 0.0, math.nan, math.inf, -math.inf,
    10**9, 10**12, 10**400, 1e300, 1e-300, 1j, [], {}, (), {1}, object(), lambda x: x, ccgbo.LogEI,
    np.array([1.0]), np.array(2), np.int64(3), np.float32(0.5), np.float64("nan"), np.bool_(True),
]  # fmt: skip
CREDIT = {"n_paths": 4}
TUNING = {
    "n_features": 16, "path_candidates": 16, "n_candidates": 32, "n_local": 4, "n_starts": 2, "search_steps": 4,
}  # fmt: skip

# how an object of each settings class comes into an optimizer, with the rest of it small
PLACES: dict[type, tuple[Mapping[str, Any], Callable[[Any], Mapping[str, Any]]]] = {
    Settings: ({"tuning": EngineTuning(**TUNING), "credit": CreditSettings(**CREDIT)}, lambda s: {"preset": s}),
    CreditSettings: (CREDIT, lambda c: {"credit": c, "acquisition": "ucb"}),
    FitSettings: ({}, lambda f: {"fit": f}),
    EngineTuning: (TUNING, lambda t: {"tuning": t}),
    **dict.fromkeys(
        (NormalOnLogLengthscales, LogNormalLengthscales), ({}, lambda p: {"fit": {"lengthscale_prior": p}})
    ),
    **dict.fromkeys(
        (NormalOnLog, LogNormal),
        ({"mean": 0.0, "sd": 1.0}, lambda p: {"fit": {"noise_prior": p, "trend_prior": p, "signal_prior": p}}),
    ),
    ccgbo.UCB: ({}, lambda a: {"acquisition": a}),
    ccgbo.Alternate: ({}, lambda a: {"acquisition": a}),
    ccgbo.NormalPrior: ({"mean": 0.3, "sd": 0.1}, lambda g: {"prior": {"x": g}}),
}
SETTINGS_CLASSES = [
    Settings, CreditSettings, FitSettings, EngineTuning,
    NormalOnLogLengthscales, LogNormalLengthscales, NormalOnLog, LogNormal,
]  # fmt: skip
EVERY_FIELD = [(cls, f.name) for cls in PLACES for f in fields(cls)]  # type: ignore[arg-type]


def suggest_three(**arguments: Any) -> Optimizer:
    """An optimizer that was told eight points and then made three suggestions by its model."""
    opt = Optimizer(BOX, **{"seed": 0, "tuning": TUNING, "credit": CREDIT, **arguments})
    points = np.random.default_rng(1).random((8, 2))
    opt.tell_many([{"x": x, "y": y} for x, y in points.tolist()], np.sin(5.0 * points).sum(axis=1))
    size = opt.settings.initial_size(2)
    for i in range(3 if size <= 8 else min(size - 8, 3) + 3):
        opt.tell(opt.ask(), math.sin(i))
    assert [trial.origin for trial in opt.trials[-3:]] == ["model"] * 3
    return opt


def refusal(make: Callable[[], Any]) -> str | None:
    """What the library says against it; None where it is taken."""
    try:
        make()
    except (ccgbo.SettingError, ccgbo.StorageError) as error:
        return str(error)
    return None


# -- refused at once, or working


def test_every_class_that_is_validated_is_tried_below() -> None:
    assert {cls.__name__ for cls in Validated.__subclasses__()} == {cls.__name__ for cls in PLACES} | {
        "Withheld",
        "Between",
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("cls", "name"), EVERY_FIELD, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_a_wrong_value_is_refused_at_once_or_works(cls: Any, name: str) -> None:
    rest, place = PLACES[cls]
    for value in WRONG:
        arguments = {**rest, name: value}
        said = refusal(lambda a=arguments: cls(**a))
        if said is None:
            suggest_three(**place(cls(**arguments)))
        else:
            assert said.startswith(f"{cls.__name__}.{name} must be ")


@pytest.mark.parametrize("name", [f.name for f in fields(Settings)])
def test_a_wrong_keyword_is_refused_at_once_or_works(name: str) -> None:
    for value in WRONG:
        said = refusal(lambda v=value: Optimizer(BOX, **{name: v}))
        if said is None:
            suggest_three(**{name: value})
        else:
            assert name in said


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CreditSettings(n_paths=2.5), "CreditSettings.n_paths must be a whole number in [1, 4096], got 2.5."),
        (lambda: CreditSettings(strength="0.5"), "CreditSettings.strength must be a number in [0, 1], got '0.5'."),
        (lambda: CreditSettings(half_life=0), "CreditSettings.half_life must be a number > 0, got 0."),
        (lambda: EngineTuning(n_candidates=10.5), "n_candidates must be a whole number in [1, 100000], got 10.5."),
        (lambda: EngineTuning(n_candidates=10**12), "in [1, 100000], got 1000000000000."),
        (lambda: EngineTuning(min_pending_distance=0.5), "min_pending_distance must be a number in [0, 0.5), got 0.5."),
        (lambda: LogNormal(mean=0.0, sd=0), "LogNormal.sd must be a number in [0.001, 1000], got 0."),
        (lambda: Settings(allow_repeats="no"), "Settings.allow_repeats must be True or False, got 'no'."),
        (lambda: Settings(n_initial=True), "must be None or a whole number in [1, 100000], got True."),
        (lambda: Settings(design="grid"), "design must be one of ['sobol', 'lhs', 'random'], got 'grid'."),
        (lambda: Settings(fit=FitSettings), "must be a FitSettings, got the class FitSettings: did you mean FitSet"),
        (lambda: ccgbo.Alternate(period=2.5), "Alternate.period must be None or a whole number >= 2, got 2.5."),
        (lambda: ccgbo.Alternate(explore=ccgbo.UCB), "got the class UCB: did you mean UCB()?"),
        (lambda: ccgbo.UCB(beta="2"), "UCB.beta must be a number in [0, 1000000], got '2'."),
        (lambda: ccgbo.NormalPrior(0.0, math.nan), "NormalPrior.sd must be a number > 0, got nan."),
        (lambda: ccgbo.NormalPrior("a", 1.0), "NormalPrior.mean must be a finite number, got 'a'."),
        (lambda: EngineTuning(gradient_tolerance=-1), "gradient_tolerance must be a number in [0, 1], got -1."),
        (
            lambda: FitSettings(trend_prior=3),
            "FitSettings.trend_prior must be None or a NormalOnLog or a LogNormal, got 3.",
        ),
        (lambda: Optimizer(BOX, acquisition=ccgbo.LogEI), "got the class LogEI: did you mean LogEI()?"),
        (lambda: Optimizer(BOX, preset=3), "preset must be one of ['default', 'paper'] or a Settings, got 3."),
    ],
)
def test_the_error_names_the_setting_the_rule_and_the_value(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ccgbo.SettingError) as caught:
        make()
    assert message in str(caught.value)


def test_a_wrong_setting_leaves_no_study_behind(tmp_path: Path) -> None:
    with pytest.raises(ccgbo.SettingError, match=r"n_candidates must be a whole number .* got 1000\.0"):
        ccgbo.Study(tmp_path / "s.db", BOX, tuning={"n_candidates": 1e3})
    assert not list(tmp_path.iterdir())


def test_an_object_that_cannot_be_printed_is_refused_all_the_same() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(ccgbo.SettingError, match="got an object of Mute"):
        Settings(n_initial=Mute())  # type: ignore[arg-type]


def test_numpy_scalars_become_pythons_own() -> None:
    credit = CreditSettings(n_paths=np.int32(7), strength=np.float64(0.5), tau=3, half_life=np.float32(2.0))  # type: ignore[arg-type]
    kinds = [type(v) for v in (credit.n_paths, credit.strength, credit.tau, credit.half_life)]
    assert kinds == [int, float, float, float]
    assert type(Settings(allow_repeats=np.bool_(True)).allow_repeats) is bool  # type: ignore[arg-type]
    assert type(Settings(design=np.str_("lhs")).design) is str  # type: ignore[arg-type]


def test_the_choices_in_the_annotations_are_those_that_the_code_knows() -> None:
    for cls, name, table in (
        (Settings, "design", DESIGNS),
        (Settings, "outcome_transform", {"adaptive", *OUTCOMES} - {LOG_GAP}),
        (FitSettings, "kernel", KERNELS),
        (CreditSettings, "field", FIELDS),
    ):
        assert set(get_args(get_type_hints(cls)[name])) == set(table)


def test_plain_arguments_are_held_to_the_same_rules() -> None:
    assert whole_number("n", np.int64(3)) == 3 and type(whole_number("n", np.int64(3))) is int
    assert number("timeout", 2, Above(0)) == 2.0 and optional_number("timeout", None, Above(0)) is None
    assert flag("progress", False) is False and choice("on_error", "record", ("record", "raise")) == "record"
    for refused, message in (
        (lambda: whole_number("n", True), "n must be a whole number >= 1, got True."),
        (lambda: whole_number("seed", -1, at_least=0), "seed must be a whole number >= 0, got -1."),
        (lambda: number("timeout", "1h", Above(0)), "timeout must be a number > 0, got '1h'."),
        (lambda: number("timeout", math.inf, Above(0)), "timeout must be a number > 0, got inf."),
        (lambda: flag("progress", 1), "progress must be True or False, got 1."),
        (lambda: choice("on_error", "stop", ("record",)), "on_error must be one of ['record'], got 'stop'."),
        (lambda: check("t", -1, Annotated[int, AtLeast(0)] | None), "t must be None or a whole number >= 0, got -1."),
    ):
        with pytest.raises(ccgbo.SettingError) as caught:
            refused()
        assert str(caught.value) == message


# -- one meaning, however they are written


def test_settings_without_arguments_are_the_default_preset() -> None:
    assert Settings() == ccgbo.PRESETS["default"]
    assert Optimizer(BOX).settings == Optimizer(BOX, preset="default").settings == Settings().in_force()
    assert Optimizer(BOX, preset="paper").settings == ccgbo.PRESETS["paper"]


@pytest.mark.parametrize("acquisition", [None, "ucb", "ts", "logei", "alternate"])
@pytest.mark.parametrize(
    ("name", "cls", "changes"),
    [
        ("credit", CreditSettings, {"strength": 0.9}),
        ("credit", CreditSettings, {"tau": 3.0}),
        ("credit", CreditSettings, {"half_life": 30.0, "field": "smooth"}),
        ("fit", FitSettings, {"kernel": "rbf"}),
        ("tuning", EngineTuning, {"n_starts": 2}),
        ("credit", CreditSettings, {}),
    ],
)
def test_a_mapping_and_an_object_mean_the_same(
    name: str, cls: Any, changes: Mapping[str, Any], acquisition: str | None
) -> None:
    by_mapping = Optimizer(BOX, acquisition=acquisition, **{name: changes})  # type: ignore[arg-type]
    by_object = Optimizer(BOX, acquisition=acquisition, **{name: cls(**changes)})  # type: ignore[arg-type]
    assert by_mapping.settings == by_object.settings


def test_from_the_papers_preset_a_mapping_changes_single_fields_and_an_object_stands_as_it_is() -> None:
    paper = ccgbo.PRESETS["paper"]
    assert resolve("paper", credit={"tau": 2.0}).credit == replace(paper.credit, tau=2.0)
    whole = CreditSettings(strength=0.5, tau=2.0, credit_when="base_mean_below_incumbent")  # as suits UCB
    assert resolve("paper", credit=CreditSettings(tau=2.0)).credit == whole


def test_the_papers_preset_spells_out_every_field() -> None:
    tree = ast.parse(inspect.getsource(presets_module))
    paper = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "PAPER"
    )
    calls = [node for node in ast.walk(paper) if isinstance(node, ast.Call)]
    assert len(calls) == 5
    for call in calls:
        cls: Any = getattr(presets_module, call.func.id)  # type: ignore[attr-defined]
        assert {keyword.arg for keyword in call.keywords} == {f.name for f in fields(cls)}, cls


@pytest.mark.parametrize("name", sorted(ACQUISITIONS))
def test_an_acquisition_by_name_by_object_or_in_a_preset_gives_the_same_optimizer(name: str) -> None:
    thing = ACQUISITIONS[name]
    several: Any = {"objectives": {"a": "maximize", "b": "minimize"}} if name in ("ehvi", "scalarized") else {}
    ways = [
        Optimizer(BOX, acquisition=name, **several),
        Optimizer(BOX, acquisition=thing, **several),
        Optimizer(BOX, preset=replace(ccgbo.PRESETS["default"], acquisition=thing), **several),
        Optimizer(BOX, preset=Settings(acquisition=thing), **several),
        Optimizer(BOX, preset=Settings(acquisition=thing).in_force(), **several),
    ]
    assert len({w.settings.describe() for w in ways}) == 1
    credit = ways[0].settings.credit
    assert (credit.strength, credit.tau) == ((1.0, 20.0) if name in ("alternate", "ts") else (0.5, 5.0))


def test_credit_is_switched_off_and_on() -> None:
    off = Optimizer(BOX, acquisition="ucb", credit=False).settings
    assert off.credit.strength == 0.0
    assert resolve(off, credit=True).credit.strength == 0.5
    assert resolve("paper", credit=True) == ccgbo.PRESETS["paper"]
    assert resolve("default", credit={"strength": 0.7}).credit.strength == 0.7


# -- more than 20 parameters


def cube(d: int) -> dict[str, tuple[float, float]]:
    return {f"x{i}": (0.0, 1.0) for i in range(d)}


def test_up_to_twenty_parameters_the_default_is_what_the_classes_have() -> None:
    assert Optimizer(cube(FEW)).settings == Optimizer(cube(1)).settings == Settings().in_force()
    assert Settings().initial_size(FEW) == 2 * FEW


def test_beyond_twenty_parameters_the_default_is_another_by_itself() -> None:
    found = Optimizer(cube(FEW + 1)).settings
    assert found == replace(MANY, n_initial=40).in_force() == Optimizer(cube(500)).settings
    for same in ("default", Settings(), Settings().in_force(), found):
        assert Optimizer(cube(FEW + 1), preset=same).settings == found


def test_in_many_dimensions_lengthscales_are_expected_where_hvarfners_prior_has_its_mode() -> None:
    prior, theirs = MANY.fit.lengthscale_prior, LogNormalLengthscales()
    assert prior is not None
    for d in (25, 100, 1000):
        assert prior.log_mode(d) == pytest.approx(theirs.log_mode(d), abs=0.05)


def test_in_many_dimensions_what_is_named_stands_and_the_rest_adapts() -> None:
    space, few = cube(40), Settings()
    assert Optimizer(space, fit={"kernel": "rbf"}).settings.fit == replace(MANY.fit, kernel="rbf")
    own = FitSettings(kernel="rbf")
    for opt in (Optimizer(space, fit=own), Optimizer(space, preset=Settings(fit=own))):
        assert opt.settings.fit == own and opt.settings.tuning == MANY.tuning
    named = Optimizer(space, fit={"trend_prior": few.fit.trend_prior}, acquisition="logei", n_initial=7)
    assert named.settings.fit.trend_prior == few.fit.trend_prior and named.settings.fit != few.fit
    assert named.settings.acquisition == ccgbo.LogEI() and named.settings.n_initial == 7
    again = Optimizer(space, preset=named.settings).settings
    assert again == named.settings, "settings that have adapted do not adapt again"


def test_the_default_for_few_dimensions_can_be_had_in_many_and_the_paper_has_one_for_all() -> None:
    assert Optimizer(cube(40), adapt=False).settings == replace(Settings(adapt=False)).in_force()
    assert Optimizer(cube(40), preset="paper").settings == ccgbo.PRESETS["paper"]
    assert ccgbo.PRESETS["paper"].initial_size(40) == 80


def test_credit_is_switched_off_in_many_dimensions_too() -> None:
    assert Optimizer(cube(40), credit=False).settings.credit.strength == 0.0
    filled = Optimizer(cube(40), preset=Settings().in_force()).settings.credit
    assert filled == Optimizer(cube(40)).settings.credit


# -- unknown keywords


def run_maximize(**arguments: Any) -> Any:
    return ccgbo.maximize(lambda x, y: x + y, BOX, 3, progress=False, **arguments)


@pytest.mark.parametrize(
    ("call", "keyword", "meant"),
    [
        (lambda **k: Optimizer(BOX, **k), "outcome_constraint", "outcome_constraints"),
        (lambda **k: Optimizer(BOX, **k), "random_state", "seed"),
        (lambda **k: Optimizer(BOX, **k), "aquisition", "acquisition"),
        (lambda **k: Optimizer(BOX, **k), "n_initial_points", "n_initial"),
        (lambda **k: Optimizer(BOX, **k), "acq_func", "acquisition"),
        (lambda **k: Optimizer(BOX, **k), "presets", "preset"),
        (lambda **k: Optimizer(BOX, credit=k), "lambda", "strength"),
        (lambda **k: Optimizer(BOX, credit=k), "n_neighbors", "n_neighbours"),
        (lambda **k: ccgbo.Study("never.db", BOX, **k), "study_name", "name"),
        (run_maximize, "random_state", "seed"),
        (run_maximize, "n_calls", "n_trials"),
        (run_maximize, "n_jobs", "n_workers"),
        (run_maximize, "verbose", "progress"),
        (run_maximize, "time_out", "timeout"),
    ],
)
def test_an_unknown_keyword_says_which_was_meant(call: Callable[..., Any], keyword: str, meant: str) -> None:
    with pytest.raises(ccgbo.SettingError, match=rf"no setting {keyword!r}: did you mean {meant!r}\? There are "):
        call(**{keyword: 1})


def test_an_unknown_keyword_lists_every_one_there_is() -> None:
    listed = {
        "Optimizer": (lambda: Optimizer(BOX, colour=1), Optimizer),  # type: ignore[call-arg]
        "Study": (lambda: ccgbo.Study("never.db", BOX, colour=1), ccgbo.Study),  # type: ignore[call-arg]
        "maximize": (lambda: run_maximize(colour=1), ccgbo.maximize),
    }
    for call, entry in listed.values():
        with pytest.raises(ccgbo.SettingError) as caught:
            call()
        there = set(str(caught.value).split("There are ")[1].rstrip(".").split(", "))
        assert there == set(keywords_of(entry, OptimizerOptions))
        assert {"seed", "constraint", "prior", "preset", *(f.name for f in fields(Settings))} <= there
    assert {"n_workers", "timeout", "progress", "study", "threads"} <= there


def test_points_to_begin_with_are_pointed_to() -> None:
    with pytest.raises(ccgbo.SettingError, match="no setting 'x0': points to begin with are given by "):
        Optimizer(BOX, x0=[{"x": 0.1, "y": 0.2}])  # type: ignore[call-arg]
    with pytest.raises(ccgbo.SettingError, match="no setting 'initial_points': did you mean 'x0'"):
        run_maximize(initial_points=[{"x": 0.1, "y": 0.2}])


def test_objectives_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(ccgbo.SettingError, match="objectives must be a mapping of 1 to 5 names"):
        Optimizer(BOX, objectives=2)  # type: ignore[arg-type]


# -- documented


def attribute_docstrings(cls: type) -> dict[str, str]:
    """The text under each annotated field of a class."""
    body = ast.parse(inspect.getsource(cls)).body[0].body  # type: ignore[attr-defined]
    return {
        field.target.id: text.value.value
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


@pytest.mark.parametrize("cls", [*PLACES, SettingsOptions, OptimizerOptions], ids=lambda cls: cls.__name__)
def test_every_field_has_its_docstring(cls: type) -> None:
    own = inspect.get_annotations(cls)
    names = {f.name for f in fields(cls)} if cls in PLACES else set(own)  # type: ignore[arg-type]
    if cls is OptimizerOptions:
        names -= set(SettingsOptions.__annotations__)
    documented = attribute_docstrings(cls)
    assert set(documented) == names
    assert all(text[0].isupper() and "." in text for text in documented.values())


@pytest.mark.parametrize("cls", PLACES, ids=lambda cls: cls.__name__)
def test_help_shows_what_every_field_means(cls: type) -> None:
    text = " ".join(pydoc.render_doc(cls, renderer=pydoc.plaintext).replace("|", " ").split())
    for name, meaning in attribute_docstrings(cls).items():
        assert f"{name} {' '.join(meaning.split())}" in text


def test_the_options_are_the_settings() -> None:
    assert set(SettingsOptions.__annotations__) == {f.name for f in fields(Settings)}
    rest = set(OptimizerOptions.__annotations__) - set(SettingsOptions.__annotations__)
    assert rest == set(inspect.signature(Optimizer).parameters) - {"space", "direction", "seed", "settings"}
    assert options_module.__doc__


@pytest.mark.parametrize("entry", [Optimizer, ccgbo.Study, ccgbo.maximize, ccgbo.minimize])
def test_the_entry_points_show_their_options_to_editors(entry: Any) -> None:
    assert inspect.signature(entry).parameters["settings"].annotation in (
        "Unpack[SettingsOptions]",
        "Unpack[OptimizerOptions]",
    )


BY_HAND = ["tell", "tell_many", "enqueue", "register", "amend", "drop", "restore", "abandon", "annotate"]


@pytest.mark.parametrize(
    ("documented", "signature"),
    [
        (ccgbo.maximize, ccgbo.maximize),
        (ccgbo.Study.run, ccgbo.Study.run),
        (ccgbo.Study, ccgbo.Study.__init__),
        (ccgbo.Optimizer, ccgbo.Optimizer.__init__),
        (ccgbo.Optimizer.ask, ccgbo.Optimizer.ask),
        *[(getattr(Optimizer, name), getattr(Optimizer, name)) for name in (*BY_HAND, "change_space")],
        (ccgbo.Optimizer.influence, ccgbo.Optimizer.influence),
        (ccgbo.Optimizer.influence_on, ccgbo.Optimizer.influence_on),
        (ccgbo.Study.influence, ccgbo.Study.influence),
        (ccgbo.Study.influence_on, ccgbo.Study.influence_on),
    ],
)
def test_help_documents_every_argument(documented: Any, signature: Any) -> None:
    section = inspect.getdoc(documented).split("Parameters\n----------\n")[1]  # type: ignore[union-attr]
    names = [line.lstrip("*") for line in section.splitlines() if line and not line.startswith(" ")]
    assert names == [name for name in inspect.signature(signature).parameters if name != "self"]


def test_the_page_on_settings_names_every_field() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for cls in SETTINGS_CLASSES:
        for f in fields(cls):  # type: ignore[arg-type]
            assert f"`{f.name}`" in page, f"{cls.__name__}.{f.name}"


def test_the_api_page_has_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    errors = {name for name in ccgbo.__all__ if name.endswith("Error")}
    for name in set(ccgbo.__all__) - errors - {"__version__"}:
        assert f"::: ccgbo.{name}\n" in page, name


# -- printed


def test_repr_shows_what_differs_from_the_default_preset() -> None:
    assert repr(Settings()) == "Settings()"
    assert repr(CreditSettings(tau=3)) == "CreditSettings(tau=3.0)"
    changed = Settings(n_initial=5, tuning=EngineTuning(n_starts=1))
    assert repr(changed) == "Settings(n_initial=5, tuning=EngineTuning(n_starts=1))"


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_repr_and_description_make_equal_settings(preset: str) -> None:
    s = Optimizer(BOX, preset=preset, credit={"half_life": math.inf}).settings
    for text in (repr(s), s.describe()):
        assert eval(text, vars(ccgbo).copy()) == s
    for cls in (Settings, CreditSettings, FitSettings, EngineTuning):
        for f in fields(cls):
            assert f" {f.name}=" in s.describe()


# -- stored


_LOG = {"mean": st.floats(-9, 9), "sd": st.floats(0.01, 9)}
priors = st.none() | st.builds(NormalOnLog, **_LOG) | st.builds(LogNormal, **_LOG)
acquisitions = st.sampled_from(list(ACQUISITIONS.values())) | st.builds(
    ccgbo.Alternate,
    exploit=st.sampled_from([ccgbo.EI(), ccgbo.LogEI()]),
    explore=st.builds(ccgbo.UCB, beta=st.floats(0, 9)),
    period=st.integers(2, 9),
)
all_settings = st.builds(
    Settings,
    n_initial=st.none() | st.integers(1, 99),
    outcome_transform=st.sampled_from(["robust", "standardize"]),
    allow_repeats=st.booleans(),
    acquisition=acquisitions,
    fit=st.builds(FitSettings, noise_prior=priors, trend_prior=priors),
    credit=st.builds(
        CreditSettings,
        strength=st.none() | st.floats(0, 1),
        half_life=st.floats(0.1, math.inf),
    ),
    tuning=st.builds(EngineTuning, refit_growth=st.floats(0, math.inf), path_candidates=st.none() | st.integers(1, 99)),
)
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["settings", "ucb", "withheld"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("type"), inner, max_size=3)
    ),
    max_leaves=4,
)


@given(all_settings)
@settings(max_examples=60, deadline=None)
def test_settings_come_back_equal_from_json_and_pickle(s: Settings) -> None:
    assert settings_from_dict(json.loads(json.dumps(settings_to_dict(s)))) == s
    assert pickle.loads(pickle.dumps(s)) == s
    assert eval(repr(s), vars(ccgbo).copy()) == s


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    return [path, *(p for key in keys for p in places(data[key], (*path, key)))]


def mutated(data: Any, how: st.DataObject) -> Any:
    """A copy of plain data with something at one place of it replaced, removed or added."""
    data = json.loads(json.dumps(data))
    *way, last = how.draw(st.sampled_from(places(data)[1:]))
    parent = data
    for key in way:
        parent = parent[key]
    match how.draw(st.sampled_from(["replace", "remove", "add"])):
        case "replace":
            parent[last] = how.draw(junk)
        case "remove":
            del parent[last]
        case "add" if isinstance(parent, dict):
            parent[how.draw(st.text(max_size=4))] = how.draw(junk)
        case _:
            parent.append(how.draw(junk))
    return data


@given(all_settings, st.data())
@settings(max_examples=250, deadline=None)
def test_damaged_settings_are_refused_by_name_or_are_settings(s: Settings, how: st.DataObject) -> None:
    damaged = mutated(settings_to_dict(s), how)
    said = refusal(lambda: settings_from_dict(damaged))
    assert re.search(r"settings|\w+\.\w+ must be", said) if said else settings_from_dict(damaged).in_force()


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_prior_is_refused_by_name_or_is_a_prior(how: st.DataObject) -> None:
    prior = {"x": ccgbo.NormalPrior(0.3, 0.1), "k": {"a": 0.9, "b": 0.1}}
    assert prior_from_dict(json.loads(json.dumps(prior_to_dict(prior)))) == prior
    damaged = mutated(prior_to_dict(prior), how)
    said = refusal(lambda: prior_from_dict(damaged))
    assert re.search(r"prior|NormalPrior\.(mean|sd)", said) if said else isinstance(prior_from_dict(damaged), dict)


@given(junk)
@settings(max_examples=100, deadline=None)
def test_foreign_data_is_never_taken_for_settings(data: Any) -> None:
    if isinstance(data, dict) and data == {"type": "settings"}:
        return
    with pytest.raises((ccgbo.StorageError, ccgbo.SettingError)):
        settings_from_dict(data)


def test_data_nested_without_end_are_refused() -> None:
    data: Any = 1.0
    for _ in range(500):
        data = {"type": "log_normal", "mean": data, "sd": 1.0}
    with pytest.raises(ccgbo.StorageError, match="must be a value or a mapping of fields"):
        settings_from_dict(data)


@pytest.mark.parametrize("threads", ["a", 0, -1, 1.5, True])
def test_threads_are_a_whole_number_or_none(tmp_path: Path, threads: Any) -> None:
    with pytest.raises(ccgbo.SettingError, match="threads must be None or a whole number >= 1"):
        Optimizer({"x": (0.0, 1.0)}, threads=threads)
    with pytest.raises(ccgbo.SettingError, match="threads must be None or a whole number >= 1"):
        ccgbo.Study(tmp_path / "s.db", {"x": (0.0, 1.0)}, threads=threads)
    assert list(tmp_path.iterdir()) == []
