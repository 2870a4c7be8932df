"""What to say about a keyword that nobody knows: every one there is, and which was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ccgbo.errors import CcgboError, SettingError

ELSEWHERE = {  # what other libraries call it -> what it is called here, the first that the caller has
    "random_state": ("seed",),
    "random_seed": ("seed",),
    "rng": ("seed",),
    "n_calls": ("n_trials",),
    "n_iter": ("n_trials",),
    "max_evals": ("n_trials",),
    "max_iter": ("n_trials",),
    "budget": ("n_trials",),
    "n_jobs": ("n_workers",),
    "workers": ("n_workers",),
    "verbose": ("progress",),
    "show_progress_bar": ("progress",),
    "callbacks": ("callback",),
    "n_initial_points": ("n_startup_trials", "n_initial"),
    "n_random_starts": ("n_startup_trials", "n_initial"),
    "n_startup_trials": ("n_initial",),
    "init_points": ("n_startup_trials", "n_initial"),
    "constraints": ("constraint",),
    "constraints_func": ("outcome_constraints", "constraint"),
    "outcome_constraint": ("outcome_constraints",),
    "directions": ("objectives",),
    "acq_func": ("acquisition",),
    "acquisition_function": ("acquisition",),
    "kernel": ("fit",),
    "storage": ("study", "path"),
    "study_name": ("name",),
    "load_if_exists": ("if_exists",),
    "maximize": ("direction",),
    "minimize": ("direction",),
    "x0": ("points_to_evaluate",),
    "points_to_evaluate": ("x0",),
    "initial_points": ("x0", "points_to_evaluate"),
    "probe": ("x0", "points_to_evaluate"),
    "lambda": ("strength",),  # the symbols of the paper
    "lambda_": ("strength",),
    "M": ("half_life",),
    "K": ("n_paths",),
    "H": ("n_neighbours",),
    "r_min": ("floor",),
}
STARTING_POINTS = ("x0", "y0", "initial_points", "points_to_evaluate", "probe")


def unknown_keyword(name: str, valid: Iterable[str], *, of: str | None = None) -> CcgboError:
    """The error to raise for a keyword that is none of ``valid``; ``of`` is whose setting it would be."""
    known = sorted(valid)
    meant = [word for word in ELSEWHERE.get(name, ()) if word in known] or get_close_matches(name, known, 1, 0.7)
    if meant:
        hint = f": did you mean {meant[0]!r}?"
    elif name in STARTING_POINTS:
        hint = ": points to begin with are given by Optimizer.enqueue(params), or tell(params, value) if evaluated."
    else:
        hint = "."
    who = "there is no setting" if of is None else f"{of} has no setting"
    return SettingError(f"{who} {name!r}{hint} There are {', '.join(known)}.")
