"""What ``ccgbo demo`` and ``make demo`` run: a real optimisation with a study file and a report.

With scikit-learn: a support-vector regression on its diabetes data, by the R² of a 5-fold cross-validation. Without it:
the yield of a chemical reaction whose product decays, from its rate equations, with time and catalyst at a price.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ccgbo.bench.problems.mixed import REACTION, net_yield
from ccgbo.records import best_of
from ccgbo.space import Float, Space
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
        return _report(study, folder / "report.html", echo) if best_of(result.trials, result.direction) else None


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
            "gamma": Float(1e-4, 1.0, log=True),
        }
    )
    return "support-vector regression", space, r2


def _reaction() -> Task:
    return "reaction yield", REACTION, net_yield
