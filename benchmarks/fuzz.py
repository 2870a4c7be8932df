"""Random spaces, random histories and bad input of every kind, for as long as you like.

    python benchmarks/fuzz.py --minutes 10

Each run draws a space, settings and a few dozen steps: ask, ask for many, tell, fail, bad values, data from elsewhere,
save and load. What must hold is checked after each step:

    - nothing is raised but what is documented for that step, and no warning is given
    - a suggestion belongs to the space, satisfies its constraints, and repeats neither a pending point nor, unless the
      user allows it, an evaluated one
    - no observation is lost, and a refused input leaves the state as it was
    - an optimizer restored from its state, through JSON, makes the same next suggestion bit for bit

Prints what was tried; at a failure prints the command that reproduces it and exits with status 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import ccgbo
from ccgbo import Bool, Categorical, Fixed, Float, Int, LinearConstraint, NormalPrior, Optimizer, Space

Rng = np.random.Generator

STRANGE = (
    0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1.7e308, -1.7e308, 1e-300, -1e-300, 5e-324, 1e12, -1e12, 1e-12,
    np.float32(0.1), np.int64(3), np.array([2.5]), 7, 10**30, [1.0, 2.0], np.array([1e300, -1e300]), (1.0, 0.5),
)  # fmt: skip
FAILING = (math.nan, math.inf, -math.inf, np.nan, np.float32("inf"), 10**400, -(10**400))
REFUSED = ("text", None, True, b"1", 1j, object(), [1.0, math.nan], (1.0, -2.0), {"a": 1.0}, np.ones((2, 2)))
ACQUISITIONS = ("ucb", "ei", "logei", "ts", "mes", "jes")


# -- what is drawn


def draw_number(rng: Rng) -> Any:
    low = float(rng.choice([0.0, 1.0, -5.0, 1e-9, 1e6, -1e300, 1e-200, 3.7]))
    kinds: list[Callable[[], Any]] = [
        lambda: (0.0, 1.0),
        lambda: (1, int(rng.integers(1, 9))),
        lambda: Float(low, low + max(abs(low), 1.0) * float(rng.choice([1e-3, 1.0, 1e3]))),
        lambda: Float(low, low),
        lambda: Float(10.0 ** rng.uniform(-300, 0), 10.0 ** rng.uniform(1, 300), log=True),
        lambda: Float(0.0, 1.0, step=float(rng.choice([0.1, 0.25, 0.3, 2.0]))),
        lambda: Int(-3, int(rng.integers(-3, 40)), step=int(rng.integers(1, 4))),
        lambda: Int(1, int(10 ** rng.integers(1, 12)), log=True),
        lambda: Int(0, 2**40),
    ]
    return kinds[rng.integers(len(kinds))]()


def draw_parameter(rng: Rng) -> Any:
    choices = ["a", "b", None, 3, 2.5, True, "ü\n\"'", ""]
    kinds: list[Callable[[], Any]] = [
        lambda: draw_number(rng),
        lambda: Categorical(choices[: rng.integers(1, len(choices) + 1)]),
        Bool,
        lambda: Fixed("constant"),
    ]
    return kinds[rng.choice(len(kinds), p=[0.6, 0.25, 0.1, 0.05])]()


def draw_space(rng: Rng) -> Space:
    parameters = {f"p{i}": draw_parameter(rng) for i in range(rng.integers(1, 5))}
    if rng.random() < 0.3:
        parameters["kind"] = Categorical(["x", "y", "z"])
        parameters["child"] = Float(0.0, 2.0, active_if={"kind": ["x", "y"]})
        parameters["grandchild"] = Int(1, 5, active_if={"kind": "x"})
    constraints: list[Any] = []
    plain = [name for name, p in Space(parameters).items() if not isinstance(p, Categorical)]
    if plain and rng.random() < 0.25:
        p = Space(parameters)[plain[0]]
        constraints.append(LinearConstraint({plain[0]: 1.0}, upper=float(p.low) + 0.7 * float(p.high - p.low)))
    if rng.random() < 0.15:
        constraints.append(lambda params: len(repr(sorted(params.items(), key=str))) % 3 != 0)
    if rng.random() < 0.02:
        constraints.append(lambda _: False)
    return Space(parameters, constraints=constraints)


def draw_settings(rng: Rng, space: Space) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "preset": str(rng.choice(["default", "paper"])),
        "acquisition": str(rng.choice(ACQUISITIONS)),
        "outcome_transform": str(rng.choice(["standardize", "robust"])),
        "pending": str(rng.choice(["kriging_believer", "fantasy"])),
        "direction": str(rng.choice(["maximize", "minimize"])),
        "design": str(rng.choice(["sobol", "lhs", "random"])),
        "allow_repeats": bool(rng.random() < 0.2),
        "n_initial": int(rng.integers(1, 6)),
        "seed": int(rng.integers(2**31)),
        "tuning": {"n_candidates": 64, "n_local": 16, "n_starts": int(rng.integers(0, 3)), "search_steps": 8},
        "credit": bool(rng.random() < 0.8) and {"field": str(rng.choice(["knn", "knn-scaled", "smooth"]))},
    }
    if rng.random() < 0.2:
        name = space.names[0]
        p = space[name]
        belief: Any = {p.choices[0]: 1.0} if isinstance(p, Categorical) else NormalPrior(float(p.low), 1.0)
        settings["prior"] = {name: belief} if rng.random() < 0.5 else lambda params: float(len(repr(params)) % 7)
    return settings


# -- one run


class Failure(AssertionError):
    """A promise was broken."""


def check(holds: bool, promise: str) -> None:
    if not holds:
        raise Failure(promise)


class Run:
    """One space, one history."""

    def __init__(self, rng: Rng, tried: Counter[str]) -> None:
        self.rng, self.tried = rng, tried
        self.space = draw_space(rng)
        self.settings = draw_settings(rng, self.space)
        self.over = False
        self.observed = 0  # finite values told
        self.opt = Optimizer(self.space, **self.settings)
        traits = {
            "conditional space": self.space.conditional,
            "constrained space": self.space.constraints,
            "finite space": self.space.cardinality,
            "belief about the optimum": "prior" in self.settings,
        }
        tried.update(name for name, present in traits.items() if present)

    def step(self) -> None:
        actions = (
            self.ask, self.ask, self.ask, self.ask_many, self.tell, self.tell, self.tell, self.tell_failed,
            self.tell_refused, self.tell_elsewhere, self.tell_duplicate, self.tell_outside, self.tell_bulk,
            self.save_and_load, self.look,
        )  # fmt: skip
        actions[self.rng.integers(len(actions))]()
        complete = sum(t.state == "complete" for t in self.opt.trials)
        check(complete == self.observed, f"{self.observed} finite values told, {complete} kept")

    def value(self) -> Any:
        if self.rng.random() < 0.5:
            return float(self.rng.standard_normal())
        self.tried["strange value"] += 1
        return STRANGE[self.rng.integers(len(STRANGE))]

    # suggestions

    def ask(self) -> None:
        before = self.opt.trials
        try:
            trial = self.opt.ask()
        except ccgbo.InfeasibleSpaceError:
            self.tried["infeasible space"] += 1
            check(bool(self.space.constraints), "a space without constraints was called infeasible")
            self.over = True
            return
        except ccgbo.SpaceExhaustedError:
            self.tried["exhausted space"] += 1
            check(not self.free_points(before), "a space with free points was called exhausted")
            return
        self.check_suggestion(trial, before)

    def ask_many(self) -> None:
        for _ in range(self.rng.integers(1, 12)):
            self.ask()

    def check_suggestion(self, trial: ccgbo.Trial, before: tuple[ccgbo.Trial, ...]) -> None:
        u = self.space.encode(trial.params)
        check(bool(self.space.feasible(u[None, :])[0]), f"{trial.params} breaks a constraint")
        states = ("pending", "failed") if self.settings["allow_repeats"] else ("pending", "failed", "complete")
        for other in before:
            if other.state in states:
                check(dict(other.params) != dict(trial.params), f"{trial.params} repeats trial {other.id}")

    def free_points(self, trials: tuple[ccgbo.Trial, ...]) -> bool:
        grid = self.space.grid(limit=10_000)
        if grid is None:
            return True
        used = [t.params for t in trials if t.state != "complete" or not self.settings["allow_repeats"]]
        return any(params not in used for params in self.space.decode_rows(grid))

    # outcomes

    def pending(self) -> ccgbo.Trial | None:
        waiting = self.opt.pending
        return waiting[self.rng.integers(len(waiting))] if waiting else None

    def tell(self) -> None:
        if (trial := self.pending()) is not None:
            noise = float(10.0 ** self.rng.uniform(-320, 300)) if self.rng.random() < 0.1 else None
            self.opt.tell(trial, self.value(), noise_variance=noise)
            self.observed += 1

    def tell_failed(self) -> None:
        if (trial := self.pending()) is None:
            return
        self.tried["failed evaluation"] += 1
        if self.rng.random() < 0.5:
            done = self.opt.tell(trial, failed=True, error="boom")
        else:
            done = self.opt.tell(trial.id, FAILING[self.rng.integers(len(FAILING))])
        check(done.state == "failed", f"{done} should have failed")

    def tell_refused(self) -> None:
        if (trial := self.pending()) is None:
            return
        self.tried["value that is no number"] += 1
        self.refused(lambda: self.opt.tell(trial, REFUSED[self.rng.integers(len(REFUSED))]))
        self.tried["unknown trial"] += 1
        self.refused(lambda: self.opt.tell(10**9, 1.0))
        self.tried["bad noise"] += 1
        self.refused(lambda: self.opt.tell(trial, 1.0, noise_variance=-1.0))

    def refused(self, call: Callable[[], Any]) -> None:
        before = json.dumps(self.opt.state_dict())
        try:
            call()
        except (ccgbo.TellError, ccgbo.ParamsError, ccgbo.UnsupportedError):
            check(json.dumps(self.opt.state_dict()) == before, "a refused input changed the state")
            return
        raise Failure("bad input was taken")

    def point(self) -> dict[str, Any]:
        U = self.space.snap(self.rng.random((1, self.space.d)))
        return self.space.decode(U[0])

    def tell_elsewhere(self) -> None:
        self.tried["data from elsewhere"] += 1
        self.opt.tell(self.point(), self.value())
        self.observed += 1

    def tell_duplicate(self) -> None:
        if not self.opt.trials:
            return
        self.tried["duplicate point"] += 1
        params = self.opt.trials[self.rng.integers(len(self.opt.trials))].params
        for _ in range(self.rng.integers(1, 4)):
            self.opt.tell(params, self.value())
            self.observed += 1

    def tell_outside(self) -> None:
        self.tried["point outside the space"] += 1
        name = self.space.names[self.rng.integers(self.space.d)]
        bad = [math.nan, math.inf, "nowhere", [1], None if name != "p0" else object(), 1e308, np.array([1, 2])]
        outside = {**self.point(), name: bad[self.rng.integers(len(bad))]}
        try:
            self.space.encode(outside)
        except ccgbo.ParamsError:
            self.refused(lambda: self.opt.tell(outside, 1.0))
        self.refused(lambda: self.opt.tell({**self.point(), "unknown": 1}, 1.0))

    def tell_bulk(self) -> None:
        n = int(self.rng.integers(0, 30))
        self.tried["bulk data"] += 1
        points, values = [self.point() for _ in range(n)], [self.value() for _ in range(n)]
        self.refused(lambda: self.opt.tell_many([*points, {}], [*values, "text"]))
        self.opt.tell_many(points, values)
        self.observed += n

    # the rest of the interface

    def save_and_load(self) -> None:
        self.tried["save and load"] += 1
        text = json.dumps(self.opt.state_dict(), allow_nan=False)
        other = Optimizer(self.space, **self.settings)
        other.load_state_dict(json.loads(text))
        check(json.dumps(other.state_dict()) == text, "a state changed by being loaded")
        try:
            theirs: Any = other.ask()
        except ccgbo.CcgboError as error:
            theirs = type(error)
        before = self.opt.trials
        try:
            ours: Any = self.opt.ask()
            self.check_suggestion(ours, before)
        except ccgbo.CcgboError as error:
            ours = type(error)
        check(ours == theirs, f"the restored optimizer suggests {theirs}, the original {ours}")

    def look(self) -> None:
        self.tried["looking"] += 1
        before = json.dumps(self.opt.state_dict())
        repr(self.opt)
        repr(self.opt.result())
        if self.observed:
            recommendation = self.opt.recommend()
            check(math.isfinite(recommendation.mean) and math.isfinite(recommendation.std), f"{recommendation}")
            credits = self.opt.credits()
            check(all(0.0 < row.credit <= 1.0 and math.isfinite(row.score) for row in credits), "credit out of range")
        for trial in self.opt.trials[-3:]:
            str(self.opt.explain(trial))
        check(json.dumps(self.opt.state_dict()) == before, "looking changed the state")


def one_run(seed: int, number: int, tried: Counter[str]) -> int:
    """The number of steps made; raises at the first broken promise."""
    rng = np.random.default_rng([seed, number])
    run = Run(rng, tried)
    steps = int(rng.integers(10, 60))
    for step in range(steps):
        if run.over:
            return step
        run.step()
    return steps


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=int, default=None, help="repeat this one run")
    options = parser.parse_args()
    warnings.simplefilter("error")
    tried: Counter[str] = Counter()
    runs = steps = 0
    end = time.monotonic() + 60.0 * options.minutes
    number = options.run or 0
    while runs == 0 or (options.run is None and time.monotonic() < end):
        try:
            steps += one_run(options.seed, number, tried)
        except Exception:
            traceback.print_exc()
            print(f"FAILED after {runs:,} runs; repeat: python benchmarks/fuzz.py --seed {options.seed} --run {number}")
            return 1
        runs, number = runs + 1, number + 1
    print(f"{runs:,} runs, {steps:,} steps, {len(tried)} kinds of bad or unusual input, 0 failures")
    for kind, count in tried.most_common():
        print(f"    {count:>8,}  {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
