"""How to make a study again: versions, settings, and the code that leads back to it."""

from __future__ import annotations

import shlex
from typing import Any

from ccgbo.engine.settings import Settings
from ccgbo.errors import SpaceError
from ccgbo.metrics import Metrics
from ccgbo.space import Space, space_to_json
from ccgbo.versions import versions


def reproduction(space: Space, metrics: Metrics, settings: Settings, name: str, file: str | None) -> dict[str, Any]:
    """Versions, settings and the code that leads back here; ``file`` is the study's file name, if it has one."""
    try:
        space_text = space_to_json(space)
    except SpaceError:  # predicates live in code only
        space_text = repr(space)
    if file is not None:
        shell = [f"ccgbo report {shlex.quote(file)} --name {shlex.quote(name)} -o report.html"]
        code = ["import ccgbo", "", f"study = ccgbo.Study({file!r}, name={name!r})", "study.ask()  # goes on from here"]
    else:
        shell, told = [], "value" if metrics.plain else "values"
        code = [
            "import json",
            "",
            "from ccgbo import *",
            "from ccgbo.space import space_from_json",
            "",
            "# space.json is at the end of this page, trials.json behind a button above the table of trials",
            'space = space_from_json(open("space.json").read())',
            'told = [t for t in json.load(open("trials.json")) if t["state"] == "complete"]',
            f"settings = {settings.describe()}",
            f"opt = Optimizer(space, {_goal(metrics)}, preset=settings)",
            f'opt.tell_many([t["params"] for t in told], [t["{told}"] for t in told])',
        ]
    return {
        "versions": {k: v for k, v in versions().items() if k in ("python", "ccgbo", "numpy", "scipy")},
        "shell": shell,
        "code": "\n".join(code),
        "settings": settings.describe(),
        "space": space_text,
    }


def _goal(metrics: Metrics) -> str:
    """What an optimizer is told of its metrics, as code."""
    if metrics.plain:
        return f"direction={metrics.direction!r}"
    return f"objectives={dict(metrics.objectives)!r}, outcome_constraints={dict(metrics.constraints)!r}"
