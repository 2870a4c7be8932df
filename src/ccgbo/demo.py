"""What ``ccgbo demo`` and ``make demo`` run: a real optimisation with a study file and a report.

With scikit-learn: a support-vector regression on its diabetes data, by the R² of a 5-fold cross-validation. Without it:
the yield of a chemical reaction whose product decays, from its rate equations, with time and catalyst at a price.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ccgbo.space import Categorical, Float, Space
from ccgbo.storage import delete_study, list_studies
from ccgbo.study import Study

Echo = Callable[[str], None]


def run_demo(folder: Path, n_trials: int, echo: Echo) -> Path | None:
    """Optimise, keep the study in ``folder`` and write its report there; the report's path, or None without plots."""
    folder.mkdir(parents=True, exist_ok=True)
    with_sklearn = importlib.util.find_spec("sklearn") is not None
    name, space, f = (_regression if with_sklearn else _reaction)()
    path = folder / "demo.db"
    if path.exists() and name in [info.name for info in list_studies(path)]:
        delete_study(path, name)  # a demonstration starts from the beginning
    with Study(path, space, name=name, direction="maximize", seed=0) as study:
        echo(f"{name}: {n_trials} trials over {', '.join(space)}; the study is in {path}")
        result = study.run(f, n_trials=n_trials)
        echo(repr(result))
        return _report(study, folder / "report.html", echo) if study.best is not None else None


def _report(study: Study, path: Path, echo: Echo) -> Path | None:
    try:
        from ccgbo.viz.report import write_report

        write_report(study, path)
    except ImportError as error:
        echo(f"no report: {error}")
        return None
    echo(f"report: {path.resolve().as_uri()}")
    return path


Task = tuple[str, Space, Callable[..., float]]


def _regression() -> Task:
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    X, y = load_diabetes(return_X_y=True)

    def r2(**params: Any) -> float:
        return float(cross_val_score(make_pipeline(StandardScaler(), SVR(**params)), X, y, cv=5, scoring="r2").mean())

    space = Space(
        {
            "C": Float(1e-2, 1e3, log=True),
            "epsilon": Float(0.1, 50.0, log=True),
            "kernel": Categorical(["linear", "rbf"]),
            "gamma": Float(1e-4, 1.0, log=True, active_if={"kernel": "rbf"}),
        }
    )
    return "support-vector regression", space, r2


def _reaction() -> Task:
    space = Space(
        {
            "temperature": Float(280.0, 420.0),  # K
            "minutes": Float(1.0, 600.0, log=True),
            "catalyst": Float(0.1, 10.0, log=True),  # mol %
            "solvent": Categorical(list(SOLVENTS)),
        }
    )
    return "reaction yield", space, net_yield


SOLVENTS = {"water": (1.0, 1.0), "ethanol": (1.6, 1.2), "toluene": (0.7, 0.3)}  # factors on the two rates


def net_yield(temperature: float, minutes: float, catalyst: float, solvent: str) -> float:
    """The yield in percent, less 2 for each hour and 1 for each percent of catalyst."""
    first, second = SOLVENTS[solvent]
    k1 = first * math.sqrt(catalyst) * arrhenius(4.0e7, 60_000.0, temperature)  # per minute
    k2 = second * arrhenius(1.0e10, 82_000.0, temperature)
    return 100.0 * share_of_product(k1, k2, minutes) - 2.0 * minutes / 60.0 - catalyst


def arrhenius(factor: float, energy: float, temperature: float) -> float:
    """A rate: k = A exp(-E / RT), with E in J/mol."""
    return factor * math.exp(-energy / (8.314 * temperature))


def share_of_product(k1: float, k2: float, t: float) -> float:
    """Share of B after a time t in A -> B -> C: k1 / (k2 - k1) * (exp(-k1 t) - exp(-k2 t))."""
    if math.isclose(k1, k2, rel_tol=1e-9):
        return k1 * t * math.exp(-k1 * t)
    return k1 / (k2 - k1) * (math.exp(-k1 * t) - math.exp(-k2 * t))
