"""Counterfactual Credit Guided Bayesian Optimization (arXiv 2510.04676v2).

import ccgbo

result = ccgbo.maximize(f, {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, n_trials=60, seed=0)
result.best_params, result.best_value
"""

from importlib import import_module
from typing import Any

from ccgbo.acquisition import (
    EHVI,
    EI,
    JES,
    MES,
    UCB,
    Acquisition,
    Alternate,
    Context,
    LogEI,
    Scalarized,
    ThompsonSampling,
)
from ccgbo.acquisition.factors import NormalPrior
from ccgbo.api import maximize, minimize, optimize
from ccgbo.credit.field import CreditSettings, lower_weight, regret_factor, upper_weight
from ccgbo.diagnosis import Concern, Diagnosis, Gain, LeftOut
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.options import OptimizerOptions, SettingsOptions
from ccgbo.engine.settings import PRESETS, Settings
from ccgbo.errors import (
    CcgboError,
    InfeasibleSpaceError,
    MissingExtraError,
    NoObservationsError,
    ObjectiveError,
    ParamsError,
    SettingError,
    SpaceError,
    SpaceExhaustedError,
    SpaceWarning,
    StorageError,
    StudyExistsError,
    StudyNotFoundError,
    TellError,
    UnknownTrialError,
    UnsupportedError,
)
from ccgbo.explanation import CreditRow, Credits, Explanation, Neighbour
from ccgbo.influence import (
    GroupInfluence,
    Influence,
    InfluenceOptions,
    InfluenceRow,
    Optimum,
    PointInfluence,
    SuggestionChange,
    Support,
)
from ccgbo.metric_change import MetricsChange
from ccgbo.metrics import AtLeast, AtMost, Between, Measurement, Metrics
from ccgbo.records import Event, Hypervolume, Recommendation, Trial
from ccgbo.result import Result
from ccgbo.space import (
    Bool,
    Categorical,
    Fixed,
    Float,
    Int,
    LinearConstraint,
    Mixture,
    Space,
    load_space,
    save_space,
)
from ccgbo.storage import StudyInfo, list_studies
from ccgbo.study import Study
from ccgbo.surrogate.gp.fit import FitSettings
from ccgbo.surrogate.gp.priors import LogNormal, LogNormalLengthscales, NormalOnLog, NormalOnLogLengthscales
from ccgbo.tuning import EngineTuning

__version__ = "0.1.0"

__all__ = [
    "EHVI",
    "EI",
    "JES",
    "MES",
    "PRESETS",
    "UCB",
    "Acquisition",
    "Alternate",
    "AtLeast",
    "AtMost",
    "Between",
    "Bool",
    "Categorical",
    "CcgboError",
    "Concern",
    "Context",
    "CreditRow",
    "CreditSettings",
    "Credits",
    "Diagnosis",
    "EngineTuning",
    "Event",
    "Explanation",
    "FitSettings",
    "Fixed",
    "Float",
    "Gain",
    "GroupInfluence",
    "Hypervolume",
    "InfeasibleSpaceError",
    "Influence",
    "InfluenceOptions",
    "InfluenceRow",
    "Int",
    "LeftOut",
    "LinearConstraint",
    "LogEI",
    "LogNormal",
    "LogNormalLengthscales",
    "Measurement",
    "Metrics",
    "MetricsChange",
    "MissingExtraError",
    "Mixture",
    "Neighbour",
    "NoObservationsError",
    "NormalOnLog",
    "NormalOnLogLengthscales",
    "NormalPrior",
    "ObjectiveError",
    "Optimizer",
    "OptimizerOptions",
    "Optimum",
    "ParamsError",
    "PointInfluence",
    "Recommendation",
    "Result",
    "Scalarized",
    "SettingError",
    "Settings",
    "SettingsOptions",
    "Space",
    "SpaceError",
    "SpaceExhaustedError",
    "SpaceWarning",
    "StorageError",
    "Study",
    "StudyExistsError",
    "StudyInfo",
    "StudyNotFoundError",
    "SuggestionChange",
    "Support",
    "TellError",
    "ThompsonSampling",
    "Trial",
    "UnknownTrialError",
    "UnsupportedError",
    "__version__",
    "list_studies",
    "load_space",
    "lower_weight",
    "maximize",
    "minimize",
    "optimize",
    "regret_factor",
    "save_space",
    "upper_weight",
]

_LAZY = ("integrations", "viz")  # packages that are loaded when they are first asked for


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_LAZY])
