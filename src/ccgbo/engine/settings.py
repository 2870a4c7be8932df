"""Every setting of the optimizer, and the two presets.

``paper`` is what reproduces the tables of arXiv 2510.04676v2; where the paper is silent the comment says so.
``default`` is what a user should run, and what every settings class has where nothing is given: ``Settings()`` is it.
docs/quality.md has the figure behind each departure from ``paper``. Beyond 20 parameters (``FEW``) it is ``MANY``: the
rule is ``suited``, the figures are in docs/lab/dimension.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import Annotated, Any, Literal

from ccgbo.acquisition import (
    JES,
    SCHEDULED,
    UCB,
    Acquisition,
    Alternate,
    LogEI,
    Schedule,
    get_acquisition,
    trades_mean,
)
from ccgbo.credit.field import CreditSettings
from ccgbo.errors import MissingExtraError, SettingError
from ccgbo.keywords import unknown_keyword
from ccgbo.surrogate.gp.fit import FitSettings
from ccgbo.surrogate.gp.priors import HVARFNER_NOISE, MANY_LENGTHSCALES
from ccgbo.tuning import EngineTuning
from ccgbo.validation import AtLeast, AtMost, Like, Validated, shown, spelled_out

FULL_CREDIT: dict[str, Any] = {"strength": 1.0, "tau": 20.0}
MODERATE_CREDIT: dict[str, Any] = {"strength": 0.5, "tau": 5.0}
FEW = 20  # parameters up to which the default preset is what the settings classes have
SURROGATES = ("gp", "forest", "stacked")
IS_SURROGATE = Like(
    f"one of {list(SURROGATES)}, or a surrogate: an object with .build",
    lambda thing: (
        thing in SURROGATES
        if isinstance(thing, str)
        else not isinstance(thing, type) and callable(getattr(thing, "build", None))
    ),
)


def default_acquisition() -> Schedule:
    """LogEI in turn with joint entropy search; LogEI alone where there are categoricals."""
    return Alternate(exploit=LogEI(), explore=JES(), in_mixed=False)


def forest_acquisition() -> Alternate:
    """The same where predictions are not joint."""
    return Alternate(exploit=LogEI(), explore=UCB(), in_mixed=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings(Validated):
    """All that decides what is suggested, apart from the space, the data and the seed.

    What is not given is what ``preset="default"`` has. ``repr`` shows what differs from it, ``describe()`` everything.
    """

    n_initial: Annotated[int, AtLeast(1), AtMost(100_000)] | None = None
    """Evaluations of the initial design; None is max(2 d, 10) for d parameters, in the default preset at most 40."""
    design: Literal["sobol", "lhs", "random"] = "sobol"
    """How the initial design fills the space: a Sobol sequence, a Latin hypercube or uniform draws."""
    outcome_transform: Literal["adaptive", "robust", "standardize"] = "adaptive"
    """How values are transformed for the model: to mean 0 and variance 1, "robust" with the tails drawn in. "adaptive"
    is that or, where the values say so, the logarithm of their gap to the best: of one objective with five and more
    parameters that are all numbers, and with surrogate="gp"."""
    surrogate: Annotated[Any, IS_SURROGATE] = "gp"
    """The model of the objective: "gp", "stacked" (several fits of it), "forest" (needs scikit-learn), or an object
    that builds its own posterior."""
    fit: FitSettings = field(default_factory=FitSettings)
    """How the surrogate is fitted."""
    acquisition: Annotated[Acquisition | Schedule, SCHEDULED] = field(default_factory=default_acquisition)
    """What a suggestion maximises. alpha of the paper."""
    credit: CreditSettings = field(default_factory=CreditSettings)
    """How credit weighs the acquisition."""
    pending: Literal["fantasy", "kriging_believer"] = "fantasy"
    """What to expect of points under evaluation: a joint posterior sample ("fantasy"), or the posterior mean
    ("kriging_believer")."""
    allow_repeats: bool = False
    """Whether an evaluated point may be suggested again, for noisy objectives on a grid."""
    noise: Literal["unknown", "none"] | Annotated[float, AtLeast(0)] = "unknown"
    """What is known of the noise of an evaluation: nothing ("unknown": it is learned), that there is none ("none"), or
    its standard deviation, a number in the units of the values."""
    prior_strength: Annotated[float, AtLeast(0), AtMost(1_000_000)] = 10.0
    """Weight of a user's prior over the optimum, which fades with the iterations. beta of piBO."""
    adapt: bool = True
    """Whether each of ``n_initial``, ``fit``, ``acquisition`` and ``tuning`` that is left as it is becomes what suits
    more than 20 parameters. Where it has, the settings of the optimizer say False."""
    tuning: EngineTuning = field(default_factory=EngineTuning)
    """Numerical tuning, which nobody needs to touch."""

    def __post_init__(self) -> None:
        Validated.__post_init__(self)
        if self.surrogate == "forest":
            self._check_forest()
        if self.surrogate in ("forest", "stacked") and self.credit.field == "smooth":
            rule = f"'knn' or 'knn-scaled' for surrogate={self.surrogate!r}"
            raise SettingError(f"CreditSettings.field must be {rule}, got 'smooth'.")

    def _check_forest(self) -> None:
        if find_spec("sklearn") is None:
            raise MissingExtraError("surrogate='forest'", "sklearn")
        parts = [getattr(self.acquisition, name, None) for name in ("exploit", "explore")]
        for part in (self.acquisition, *parts):
            if getattr(part, "needs_joint", False) and self.acquisition != default_acquisition():
                raise SettingError(
                    f"acquisition must do without joint predictions for surrogate='forest', got {part!r}."
                )

    def initial_size(self, d: int) -> int:
        """Evaluations of the initial design for ``d`` parameters."""
        return self.n_initial if self.n_initial is not None else max(2 * (min(d, FEW) if self.adapt else d), 10)

    def in_force(self) -> Settings:
        """These settings with nothing left open: the credit that suits the acquisition.

        A forest makes no joint predictions: it has turns of UCB in the place of the default's joint entropy search.
        """
        if self.surrogate == "forest" and self.acquisition == default_acquisition():
            return replace(self, acquisition=forest_acquisition()).in_force()
        full = getattr(self.acquisition, "full_credit", False) is True
        when = "base_mean_below_incumbent" if trades_mean(self.acquisition) else "always"
        suits: dict[str, Any] = (FULL_CREDIT if full else MODERATE_CREDIT) | {"credit_when": when}
        return replace(self, credit=_filled(self.credit, suits))

    def describe(self) -> str:
        """Every setting, one to a line, as a call that makes equal settings."""
        return spelled_out(self)


def at_every_turn(credit: CreditSettings) -> CreditSettings:
    """Credit for an acquisition that it weighs at every suggestion: moderate where nothing is given."""
    return _filled(credit, MODERATE_CREDIT | {"credit_when": "always"})


def _filled(credit: CreditSettings, values: Mapping[str, Any]) -> CreditSettings:
    open_fields: dict[str, Any] = {name: value for name, value in values.items() if getattr(credit, name) is None}
    return replace(credit, **open_fields)


DEFAULT = Settings()

PAPER = Settings(
    n_initial=None,  # max(2 d, 10)
    design="random",  # not stated; uniform is the plain reading
    outcome_transform="standardize",
    surrogate="gp",
    fit=FitSettings(  # Matern-5/2 by maximum likelihood, at every iteration
        kernel="matern52",
        lengthscale_prior=None,
        noise_prior=None,
        signal_prior=None,
        trend_prior=None,
        relevance=0.0,
        hyper_samples=0,
    ),
    acquisition=UCB(beta=2.576),
    credit=CreditSettings(
        strength=0.5,  # lambda
        tau=5.0,  # not stated; chosen on seeds that the tables do not use, see docs/reproduction.md
        half_life=20.0,  # M
        n_paths=25,  # K
        n_neighbours=5,  # H
        floor=0.1,  # r_min
        field="knn",
        credit_when="always",
    ),
    pending="fantasy",  # the paper evaluates one point at a time
    allow_repeats=False,
    noise="unknown",
    prior_strength=10.0,  # of no effect without a prior
    adapt=False,
    tuning=EngineTuning(
        learn_signal=True,
        refit_growth=0.0,
        max_points=3000,
        kept_points=1000,
        fit_points=1000,
        integrate_points=200,  # of no effect without draws
        max_iterations=100,
        gradient_tolerance=1e-4,
        n_features=256,  # not stated
        path_candidates=None,
        path_steps=0,
        score_eps=1e-6,  # eps_c, "a small constant"
        n_candidates=1000,  # not stated
        quasi_random=False,
        n_local=0,
        n_starts=0,
        search_steps=30,  # of no effect without starts
        recombine_every=None,
        recombine_stalled=None,
        recombine_from=5,  # of no effect without it
        min_pending_distance=0.05,
        batch_at_once=None,  # the paper evaluates one point at a time
    ),
)

PRESETS: Mapping[str, Settings] = MappingProxyType({"default": DEFAULT, "paper": PAPER})
"""The settings behind ``preset="default"`` and ``preset="paper"``."""


MANY = Settings(
    fit=FitSettings(
        lengthscale_prior=MANY_LENGTHSCALES, noise_prior=HVARFNER_NOISE, signal_prior=None, trend_prior=None
    ),
    acquisition=UCB(beta=0.5),
    adapt=False,
    tuning=EngineTuning(learn_signal=False, n_candidates=256, n_local=256, recombine_every=10, recombine_stalled=None),
)
"""What the default preset is beyond ``FEW`` parameters."""


def suited(settings: Settings, d: int) -> Settings:
    """The settings for ``d`` parameters: beyond ``FEW``, every part that is left as it is becomes that of ``MANY``.

    The credit that suited the default's acquisition, where it is filled in already, is open again for another one.
    """
    if not settings.adapt or d <= FEW:
        return settings
    left = [name for name in ("fit", "acquisition", "tuning") if getattr(settings, name) == getattr(DEFAULT, name)]
    changes: dict[str, Any] = {name: getattr(MANY, name) for name in left}
    if "acquisition" in left:
        filled = FULL_CREDIT | {"credit_when": "always"}
        again: dict[str, Any] = {k: None for k, v in filled.items() if getattr(settings.credit, k) == v}
        changes["credit"] = replace(settings.credit, **again)
    return replace(settings, n_initial=settings.initial_size(d), adapt=False, **changes)


def resolve(preset: Any, d: int | None = None, /, **overrides: Any) -> Settings:
    """Settings in force from a preset's name (or a Settings) with everything that is not None replaced.

    ``d`` is the number of parameters; None leaves it open what suits it. ``credit``, ``fit`` and ``tuning`` take an
    object, which stands as it is, or a mapping, which changes single fields of the preset's; from the default preset
    for up to 20 parameters both mean the same. ``credit=False`` switches credit off.
    """
    settings, known = _preset(preset), {f.name for f in fields(Settings)}
    if d is not None and overrides.get("adapt") is not False:
        settings = suited(settings, d)
    for name in overrides:
        if name not in known:
            raise unknown_keyword(name, known)
    changes = {name: value for name, value in overrides.items() if value is not None}
    if "acquisition" in changes:
        changes["acquisition"] = get_acquisition(changes["acquisition"])
    if isinstance(changes.get("credit"), bool):
        changes["credit"] = _switched(settings.credit, changes["credit"])
    for name in ("credit", "fit", "tuning"):
        if isinstance(changes.get(name), Mapping):
            changes[name] = _replace_fields(name, getattr(settings, name), changes[name])
    return replace(settings, **changes).in_force()


def _preset(preset: Any) -> Settings:
    if preset is None or isinstance(preset, Settings):
        return DEFAULT if preset is None else preset
    if isinstance(preset, str) and preset in PRESETS:
        return PRESETS[preset]
    raise SettingError(f"preset must be one of {sorted(PRESETS)} or a Settings, got {shown(preset)}.")


def _switched(credit: CreditSettings, on: bool) -> CreditSettings:
    if not on:
        return replace(credit, strength=0.0)
    return replace(credit, strength=None) if credit.strength == 0.0 else credit  # type: ignore[arg-type]


def _replace_fields(name: str, current: Any, changes: Mapping[str, Any]) -> Any:
    known = {f.name for f in fields(current)}
    for key in changes:
        if key not in known:
            raise unknown_keyword(key, known, of=name)
    return replace(current, **changes)
