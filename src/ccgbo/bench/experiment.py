"""An experiment file: which problems, methods and seeds make up one table or figure.

    name = "ablation_M"
    title = "Half-life M"
    problems = ["Hartmann6"]
    seeds = 10                      # first_seed, first_seed + 1, ...
    methods = ["ucb", { label = "M = 5", method = "ccgbo", credit = { half_life = 5 } }]

    [settings]                      # given to every method
    high_dimensional = true

A method is a name of ``ccgbo.bench.methods.get_method``, or a table with a ``label``, a ``method`` and options.
``problems`` may also name a group. Ratios are taken to the experiment's ``reference``, or to the label that a method is
``against``. What ``kind`` decides: "regret", "quality" (quality.py), "theory" (theory.py), "illustration", and with
several metrics "constrained" and "pareto" (metric_runs.py), whose methods are those of metric_methods.py.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from ccgbo.bench.methods import Method, get_method
from ccgbo.bench.metric_methods import MetricMethod, OptimizerMethod, get_metric_method
from ccgbo.bench.problems import PROBLEMS, metric_problem_names, named_dimension, problem_names
from ccgbo.engine.settings import FEW, Settings, suited
from ccgbo.errors import SettingError
from ccgbo.validation import whole_number

METRIC_KINDS = ("constrained", "pareto")
PEER_KINDS = ("quality", *METRIC_KINDS)  # against other libraries
SHOWN_KINDS = ("regret", *PEER_KINDS)  # whose methods are shown the same initial points
KINDS = ("regret", *PEER_KINDS, "theory", "illustration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A method under the name that tables and figures use."""

    label: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    against: str | None = None  # label that its ratios are taken to, if not the experiment's reference
    kind: str = "regret"  # of the experiment

    def make(self) -> Method:
        return get_method(self.method, **self.options)

    def make_metric(self) -> MetricMethod:
        """The same for several metrics."""
        return get_metric_method(self.method, **self.options)

    def made(self) -> Method | MetricMethod:
        return self.make_metric() if self.kind in METRIC_KINDS else self.make()

    def record(self, *, many: bool = False) -> dict[str, Any]:
        """Everything that decides what the method does, as plain data; ``many``: on more than 20 parameters, too."""
        method = self.made()
        settings = method.settings_for(self.kind) if isinstance(method, OptimizerMethod) else None
        settings = getattr(method, "settings", settings)
        changes = _plain(getattr(method, "changes", {}))
        beyond = {}
        if many and settings is not None and settings.adapt:
            beyond = {"beyond": _plain_settings(suited(settings, FEW + 1)) | {"n_initial": None}}
        return {
            "method": self.method,
            "options": dict(self.options),
            "settings": None if settings is None else _plain_settings(settings),
            "changes": changes,
            **beyond,
        }


def _plain_settings(settings: Settings) -> dict[str, Any]:
    return {**asdict(settings), "acquisition": repr(settings.acquisition)}


def _plain(value: Any) -> Any:
    """A change of settings, with the priors and the like inside it, as plain data."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run: a method on a problem with a seed."""

    problem: str
    method: str  # label of the variant
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    name: str
    title: str
    problems: tuple[str, ...]
    variants: tuple[Variant, ...]
    kind: str = "regret"
    seeds: int = 20
    first_seed: int = 0
    iterations: int = 100  # after the initial design
    reference: str = "ucb"  # label that ratios are taken to
    noise: float | None = None  # quality only: standard deviation relative to the spread; None: the problem's own
    design: bool = True  # quality only: whether every method is shown the same initial points
    initial: int | None = None  # how many points every method is shown first; None: max(2 d, 10)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(f"kind must be one of {list(KINDS)}, got {self.kind!r}.")
        for name, least in (("seeds", 1), ("first_seed", 0), ("iterations", 1)):
            whole_number(name, getattr(self, name), at_least=least)
        if self.kind != "quality" and (self.noise is not None or not self.design):
            raise SettingError(f"noise and design belong to the kind 'quality', got kind {self.kind!r}.")
        if self.kind not in SHOWN_KINDS and self.initial is not None:
            raise SettingError(f"initial must belong to one of the kinds {list(SHOWN_KINDS)}, got kind {self.kind!r}.")
        if self.initial is not None:
            whole_number("initial", self.initial, at_least=1)
        if self.noise is not None and not self.noise >= 0.0:
            raise SettingError(f"noise must be >= 0, got {self.noise!r}.")
        labels = [variant.label for variant in self.variants]
        if not labels or len(set(labels)) != len(labels):
            raise SettingError(f"methods must have one label each, got {labels!r}.")
        for other in (self.reference, *(variant.against for variant in self.variants)):
            if other is not None and other not in labels:
                raise SettingError(f"reference and against must be labels of methods, got {other!r}.")
        known = metric_problem_names(self.kind) if self.several else tuple(PROBLEMS)
        for problem in self.problems:
            if problem not in known and self.kind != "illustration":
                raise SettingError(f"problems must be among {list(known)}, got {problem!r}.")
        for variant in self.variants:
            variant.made()

    @property
    def several(self) -> bool:
        """Whether methods are told several metrics."""
        return self.kind in METRIC_KINDS

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(variant.label for variant in self.variants)

    def variant(self, label: str) -> Variant:
        return next(variant for variant in self.variants if variant.label == label)

    def cells(self, problems: Iterable[str] | None = None, methods: Iterable[str] | None = None) -> list[Cell]:
        """Every run, or a slice, seed by seed, so that an unfinished grid is complete for its first seeds."""
        some_problems = _among("problems", problems, self.problems)
        some_labels = _among("methods", methods, self.labels)
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        return [
            Cell(problem=problem, method=label, seed=seed)
            for seed in seeds
            for problem in some_problems
            for label in some_labels
        ]

    def with_seeds(self, seeds: int | None, first: int | None = None) -> Experiment:
        """The same on other seeds; None leaves what the file says."""
        return replace(
            self,
            seeds=self.seeds if seeds is None else seeds,
            first_seed=self.first_seed if first is None else first,
        )

    def record(self) -> dict[str, Any]:
        """What a result file says of the experiment; the number of seeds is seen from its rows."""
        own: dict[str, Any] = {"initial": self.initial} if self.kind in SHOWN_KINDS else {}
        if self.kind == "quality":
            own = {"noise": self.noise, "design": self.design, **own}
        many = any(named_dimension(problem) > FEW for problem in self.problems)
        return {
            "experiment": self.name,
            "title": self.title,
            "kind": self.kind,
            **own,
            "iterations": self.iterations,
            "reference": self.reference,
            "against": {variant.label: variant.against for variant in self.variants if variant.against},
            "problems": list(self.problems),
            "methods": {variant.label: variant.record(many=many) for variant in self.variants},
        }


def _among(what: str, wanted: Iterable[str] | None, names: tuple[str, ...]) -> list[str]:
    """Those wanted in the experiment's order; refuses a name that it does not have."""
    chosen = list(names if wanted is None else wanted)
    for name in chosen:
        if name not in names:
            raise SettingError(f"{what} must be among {list(names)}, got {name!r}.")
    return [name for name in names if name in chosen]


def parse_experiment(data: Mapping[str, Any]) -> Experiment:
    """An experiment from the contents of its file."""
    data = dict(data)
    common = data.pop("settings", {})
    methods = data.pop("methods", [])
    known = {f.name for f in fields(Experiment)} - {"variants"}
    for key in data:
        if key not in known:
            raise SettingError(f"an experiment has no field {key!r}; it has {sorted(known | {'methods', 'settings'})}.")
    for key in ("name", "title", "problems"):
        if key not in data:
            raise SettingError(f"an experiment must have the field {key!r}.")
    given = data["problems"]
    data["problems"] = problem_names(given) if isinstance(given, str) else tuple(given)
    kind = data.get("kind", "regret")
    return Experiment(**data, variants=tuple(replace(_variant(method, common), kind=kind) for method in methods))


def _variant(spec: Any, common: Mapping[str, Any]) -> Variant:
    if isinstance(spec, str):
        return Variant(label=spec, method=spec, options=_for(spec, common))
    if not isinstance(spec, Mapping) or "method" not in spec:
        raise SettingError(f"methods must be names or tables with a 'method', got {spec!r}.")
    options = {key: value for key, value in spec.items() if key not in ("label", "method", "against")}
    method, label = spec["method"], spec.get("label", spec["method"])
    options = {**_for(method, common), **options}
    return Variant(label=label, method=method, options=options, against=spec.get("against"))


def _for(method: str, common: Mapping[str, Any]) -> dict[str, Any]:
    return {} if method == "random" else dict(common)


def experiment_names() -> list[str]:
    """Experiments that come with the package."""
    return sorted(file.name.removesuffix(".toml") for file in _packaged().iterdir() if file.name.endswith(".toml"))


def load_experiment(name: str | Path) -> Experiment:
    """An experiment by the name of a packaged one, written with - or _, or by the path of its file."""
    path = Path(name)
    if path.suffix != ".toml":
        name = str(name).replace("-", "_")
        if name not in experiment_names():
            raise SettingError(f"experiment must be a .toml file or one of {experiment_names()}, got {str(name)!r}.")
        text = _packaged().joinpath(f"{name}.toml").read_text(encoding="utf-8")
    elif path.is_file():
        text = path.read_text(encoding="utf-8")
    elif path.parent == Path() and path.stem in experiment_names():
        text = _packaged().joinpath(path.name).read_text(encoding="utf-8")
    else:
        raise SettingError(f"experiment must be a file that exists, got {str(name)!r}.")
    try:
        return parse_experiment(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"experiment {str(name)!r} must be TOML: {error}.") from None


def _packaged() -> Any:
    return resources.files("ccgbo.bench").joinpath("experiments")
