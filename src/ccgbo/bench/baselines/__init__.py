"""The compared methods, all on the same surrogate, candidates and step.

get_method("ccgbo")                              by name
get_method("ccgbo", credit={"half_life": 10})    with settings of the optimizer replaced
get_method("wgp", eta=0.95)                      or options of the baseline

random    uniform points                    wgp      weights that grow in time, Deng et al. 2022
ucb       GP-UCB, Srinivas et al. 2009      rgp      periodic reset, Bogunovic et al. 2016
ccgbo     credit on GP-UCB                  tvgp     smooth forgetting, Bogunovic et al. 2016
ts, logei, jes, mes                         outlier  Student-t outliers left out, Martinez-Cantin et al. 2018
ccgbo-ts, ccgbo-logei, ccgbo-jes, -mes      pibo     belief on the acquisition, Hvarfner et al. 2022
forest    random forest and EI, ccgbo-forest with credit on UCB
                                            colabo   belief on the functions, Hvarfner et al. 2023
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from ccgbo.acquisition import UCB
from ccgbo.bench.baselines.base import EngineMethod, Method, RandomMethod, Searcher, Variant, VariantMethod
from ccgbo.bench.baselines.belief import GaussianBelief
from ccgbo.bench.baselines.colabo import colabo
from ccgbo.bench.baselines.forgetting import tvgp
from ccgbo.bench.baselines.outlier import outlier
from ccgbo.bench.baselines.pibo import pibo
from ccgbo.bench.baselines.resetting import rgp
from ccgbo.bench.baselines.wgp import wgp
from ccgbo.engine.settings import MANY, PRESETS, Settings, resolve
from ccgbo.errors import SettingError

VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "wgp": wgp,
        "rgp": rgp,
        "tvgp": tvgp,
        "outlier": outlier,
        "pibo": pibo,
        "colabo": colabo,
    }
)
ACQUISITIONS = ("ucb", "ts", "logei", "jes", "mes")
METHODS = (
    "random",
    *ACQUISITIONS,
    "ccgbo",
    *(f"ccgbo-{name}" for name in ACQUISITIONS if name != "ucb"),
    *VARIANTS,
    "forest",
    "ccgbo-forest",
)
_SETTINGS = frozenset(f.name for f in fields(Settings))


def get_method(name: str, **options: Any) -> Method:
    """The method of that name.

    ``options`` are fields of the optimizer's settings (``credit``, ``fit``, ``search`` as mappings of single fields),
    ``beta`` of UCB, ``preset``, ``high_dimensional=True``, and the baseline's own.
    """
    if name not in METHODS:
        raise SettingError(f"method must be one of {list(METHODS)}, got {name!r}.")
    own = {key: value for key, value in options.items() if key not in _SETTINGS and key not in _COMMON}
    if name == "random":
        _refuse(name, own)
        return RandomMethod()
    settings = _settings(name, {key: value for key, value in options.items() if key not in own})
    if name in VARIANTS:
        return VariantMethod(variant=VARIANTS[name], settings=settings, options=own)
    _refuse(name, own)
    return EngineMethod(settings=settings)


_COMMON = frozenset({"preset", "beta", "high_dimensional"})


def _settings(name: str, options: Mapping[str, Any]) -> Settings:
    changes = dict(options)
    preset, beta = changes.pop("preset", "paper"), changes.pop("beta", None)
    if preset not in PRESETS:
        raise SettingError(f"preset must be one of {sorted(PRESETS)}, got {preset!r}.")
    base = PRESETS[preset]
    if changes.pop("high_dimensional", False):  # the surrogate of Hvarfner et al. 2024
        base = resolve(base, fit=MANY.fit, tuning={"learn_signal": False})
    if name.endswith("forest"):
        credited = name == "ccgbo-forest"
        base = resolve(base, surrogate="forest", acquisition="ucb" if credited else "ei", credit=credited)
    elif name in ACQUISITIONS:
        base = resolve(base, acquisition=name, credit=False)
    elif name.startswith("ccgbo-"):
        base = resolve(base, acquisition=name.removeprefix("ccgbo-"))
    elif name in VARIANTS:
        base = resolve(base, credit=False)
    if beta is not None:
        base = resolve(base, acquisition=UCB(beta=beta))
    return resolve(base, **changes)


def _refuse(name: str, own: Mapping[str, Any]) -> None:
    if own:
        raise SettingError(f"the method {name!r} has no option {next(iter(own))!r}.")


__all__ = ["METHODS", "GaussianBelief", "Method", "Searcher", "get_method"]
