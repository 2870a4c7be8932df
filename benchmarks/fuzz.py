"""Random spaces, random metrics, random histories and bad input of every kind, for as long as you like.

    python benchmarks/fuzz.py --minutes 10

Each run draws a space, one value or several metrics, settings and a few dozen steps: ask, ask for many, tell, fail, bad
values, data from elsewhere, corrections, other metrics, another space, save and load. What must hold is checked after
each step:

    - nothing is raised but what is documented for that step, and no warning is given
    - a suggestion belongs to the space, satisfies its constraints, and repeats neither a pending point nor, unless the
      user allows it, an evaluated one
    - no observation is lost, and a refused input leaves the state as it was
    - the best trial and the front are those that trying all of them finds
    - an optimizer restored from its state, through JSON, makes the same next suggestions bit for bit

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
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from fuzz_draws import (
    FAILING,
    REFUSED,
    Function,
    Rng,
    brute_force_front,
    draw_change,
    draw_function,
    draw_metrics,
    draw_settings,
    draw_space,
    finite,
)

import ccgbo
from ccgbo import Optimizer, Space, Trial
from ccgbo.metrics import VALUE, feasible, metrics_of


class Failure(AssertionError):
    """A promise was broken."""


def check(holds: bool, promise: str) -> None:
    if not holds:
        raise Failure(promise)


class Run:
    """One space, some metrics, one history, and what the user knows of it."""

    def __init__(self, rng: Rng, tried: Counter[str]) -> None:
        self.rng, self.tried = rng, tried
        space, goal = draw_space(rng), draw_metrics(rng)
        self.settings = draw_settings(rng, space, metrics_of(**goal))
        self.opt = Optimizer(space, **goal, **self.settings)
        self.functions: dict[str, Function] = {}  # by metric, as they come up
        self.known: dict[int, dict[str, float]] = {}  # of each trial what was told
        self.states: dict[int, str] = {}
        self.dropped: set[int] = set()
        self.moved = False  # whether the space was changed
        self.over = False
        self.count(space)

    def count(self, space: Space) -> None:
        metrics = self.opt.metrics
        traits = {
            "conditional space": space.conditional,
            "constrained space": space.constraints,
            "finite space": space.cardinality,
            "belief about the optimum": "prior" in self.settings,
            "several objectives": metrics.several,
            "outcome constraints": metrics.constraints,
        }
        self.tried.update(name for name, present in traits.items() if present)

    def step(self) -> None:
        actions = (
            self.ask, self.ask, self.ask, self.ask_many, self.ask_fixed, self.tell, self.tell, self.tell, self.tell,
            self.tell_failed, self.tell_refused, self.tell_elsewhere, self.tell_duplicate, self.tell_outside,
            self.tell_bulk, self.enqueue, self.amend, self.drop_or_restore, self.abandon, self.change_metrics,
            self.change_space, self.save_and_load, self.look,
        )  # fmt: skip
        actions[self.rng.integers(len(actions))]()
        trials = self.opt.trials
        for trial in trials:  # an enqueued trial that is no point of a changed space is given up when its turn comes
            if self.moved and trial.origin == "enqueued" and trial.state == "abandoned":
                self.states[trial.id] = "abandoned"
        check({t.id: t.values for t in trials} == self.known, "what was told is not what is kept")
        check({t.id: t.state for t in trials} == self.states, "a trial is in another state")
        check({t.id for t in trials if t.dropped} == self.dropped, "other trials are dropped")

    # suggestions

    def ask(self, fixed: Mapping[str, Any] | None = None) -> None:
        before, space = self.opt.trials, self.opt.space if fixed is None else self.opt.space.restricted(fixed)
        try:
            self.suggested(self.opt.ask(fixed=fixed), before, space)
        except ccgbo.InfeasibleSpaceError:
            self.tried["infeasible space"] += 1
            check(bool(space.constraints), "a space without constraints was called infeasible")
            self.over = fixed is None
        except ccgbo.SpaceExhaustedError:
            self.tried["exhausted space"] += 1
            check(not self.free_points(before, space), "a space with free points was called exhausted")

    def ask_many(self) -> None:
        if self.rng.random() < 0.5:
            for _ in range(self.rng.integers(1, 8)):
                self.ask()
            return
        before = self.opt.trials
        try:
            batch = self.opt.ask(int(self.rng.integers(1, 40)))
        except (ccgbo.SpaceExhaustedError, ccgbo.InfeasibleSpaceError):
            check(self.opt.trials == before, "a batch that was refused left trials behind")
            return
        self.tried["batch"] += 1
        for i, trial in enumerate(batch):
            self.suggested(trial, (*before, *batch[:i]), self.opt.space)

    def ask_fixed(self) -> None:
        space = self.opt.space
        try:
            point = self.point()
            fixed = {name: point[name] for name in list(point)[: self.rng.integers(1, len(point) + 1)]}
            space.restricted(fixed)
        except ccgbo.InfeasibleSpaceError:
            check(bool(space.constraints), "a value of the space cannot be fixed")
            return
        self.tried["fixed values"] += 1
        self.ask(fixed)

    def enqueue(self) -> None:
        self.tried["enqueued point"] += 1
        params = self.point()
        if self.opt.space.outside(params) is not None:
            self.refused(lambda: self.opt.enqueue(params))
            return
        trial = self.opt.enqueue(params)
        self.known[trial.id], self.states[trial.id] = {}, "pending"

    def suggested(self, trial: Trial, before: tuple[Trial, ...], space: Space) -> None:
        self.known[trial.id], self.states[trial.id] = {}, "pending"
        if trial.origin == "enqueued":  # what the user wants may be there already
            return
        check(space.agrees(trial.params), f"{trial.params} has not the values that are fixed")
        u = space.encode(trial.params)
        check(bool(space.feasible(u[None, :])[0]), f"{trial.params} breaks a constraint")
        for other in before:
            if self.forbids(other):
                check(repr(dict(other.params)) != repr(dict(trial.params)), f"{trial.params} repeats trial {other.id}")

    def forbids(self, trial: Trial) -> bool:
        if trial.dropped or trial.state == "abandoned":
            return False
        return trial.state != "complete" or not self.settings["allow_repeats"]

    def free_points(self, trials: tuple[Trial, ...], space: Space) -> bool:
        grid = space.grid(limit=10_000)
        if grid is None:
            return not space.conditional  # of a tree a part may be used up
        used = [t.params for t in trials if self.forbids(t)]
        return any(params not in used for params in space.decode_rows(grid))

    # outcomes

    def one_of(self, *states: str) -> Trial | None:
        found = [t for t in self.opt.trials if t.state in states]
        return found[self.rng.integers(len(found))] if found else None

    def measure(self, params: Mapping[str, Any]) -> Any:
        """A number, or a mapping of metrics of which some are missing."""
        metrics, values = self.opt.metrics, {}
        for name in metrics.names:
            if name not in self.functions or self.rng.random() < 0.05:
                self.functions[name] = draw_function(self.rng)
            values[name] = self.functions[name](np.clip(self.opt.space.place_rows([dict(params)])[0][0], 0.0, 1.0))
        if metrics.plain:
            return values[VALUE]
        for name in metrics.names:
            if self.rng.random() < 0.1:
                self.tried["metric that is missing"] += 1
                values[name] = [None, *FAILING][self.rng.integers(len(FAILING) + 1)]
                if self.rng.random() < 0.3:
                    del values[name]
        return values

    def note(self, trial: Trial, told: Any, before: Mapping[str, float] | None = None) -> None:
        """What the user knows of a trial after an outcome or a correction of it."""
        given = told if isinstance(told, Mapping) else {self.opt.metrics.objective: told}
        after = {**(before or {}), **{name: finite(value) for name, value in given.items()}}
        self.known[trial.id] = {name: value for name, value in after.items() if value is not None}
        self.states[trial.id] = "complete" if self.known[trial.id] else "failed"

    def noise(self, told: Any) -> Any:
        if self.rng.random() < 0.9:
            return None
        variance = float(10.0 ** self.rng.uniform(-320, 300))
        if not isinstance(told, Mapping):
            return None if isinstance(told, list | tuple | np.ndarray) else variance
        alone = [name for name, value in told.items() if isinstance(value, float)]
        return dict.fromkeys(alone[:1], variance)

    def tell(self) -> None:
        if (trial := self.one_of("pending")) is not None:
            told = self.measure(trial.params)
            self.note(self.opt.tell(trial, told, noise_variance=self.noise(told)), told)

    def tell_failed(self) -> None:
        if (trial := self.one_of("pending")) is None:
            return
        self.tried["failed evaluation"] += 1
        failing = FAILING[self.rng.integers(len(FAILING))]
        if self.rng.random() < 0.5:
            done = self.opt.tell(trial, failed=True, error="boom")
        else:
            plain = not self.opt.metrics.several
            done = self.opt.tell(trial.id, failing if plain else dict.fromkeys(self.opt.metrics.names, failing))
        check(done.state == "failed", f"{done} should have failed")
        self.states[trial.id] = "failed"

    def tell_refused(self) -> None:
        if (trial := self.one_of("pending")) is None:
            return
        metrics = self.opt.metrics
        self.tried["value that is no number"] += 1
        bad = REFUSED[self.rng.integers(len(REFUSED))]
        if bad is None and not metrics.plain:
            bad = object()  # None says that a metric is missing
        self.refused(lambda: self.opt.tell(trial, bad if metrics.plain else {metrics.objective: bad}))
        self.refused(lambda: self.opt.tell(trial, {"no such metric": 1.0}))
        self.tried["unknown trial"] += 1
        self.refused(lambda: self.opt.tell(10**9, 1.0 if metrics.plain else {metrics.objective: 1.0}))
        self.tried["bad noise"] += 1
        noise = -1.0 if metrics.plain else {metrics.objective: -1.0}
        self.refused(lambda: self.opt.tell(trial, self.number(1.0), noise_variance=noise))

    def number(self, value: float) -> Any:
        """A value of the first objective."""
        return value if self.opt.metrics.plain else {self.opt.metrics.objective: value}

    def refused(self, call: Callable[[], Any]) -> None:
        before = json.dumps(self.opt.state_dict())
        try:
            call()
        except (ccgbo.TellError, ccgbo.ParamsError, ccgbo.UnsupportedError):
            check(json.dumps(self.opt.state_dict()) == before, "a refused input changed the state")
            return
        raise Failure("bad input was taken")

    def point(self) -> dict[str, Any]:
        space = self.opt.space
        return space.decode(space.snap(self.rng.random((1, space.d)))[0])

    def tell_elsewhere(self) -> None:
        self.tried["data from elsewhere"] += 1
        params = self.point()
        told = self.measure(params)
        self.note(self.opt.tell(params, told), told)

    def tell_duplicate(self) -> None:
        inside = [t.params for t in self.opt.trials if t.id not in self.opt.outside and not self.moved]
        if not inside:
            return
        self.tried["duplicate point"] += 1
        params = inside[self.rng.integers(len(inside))]
        for _ in range(self.rng.integers(1, 4)):
            told = self.measure(params)
            self.note(self.opt.tell(params, told), told)

    def tell_outside(self) -> None:
        self.tried["point outside the space"] += 1
        name = self.opt.space.names[self.rng.integers(self.opt.space.d)]
        bad = [math.nan, math.inf, "nowhere", [1], None if name != "p0" else object(), 1e308, np.array([1, 2])]
        outside = {**self.point(), name: bad[self.rng.integers(len(bad))]}
        try:
            self.opt.space.encode(outside)
        except ccgbo.ParamsError:
            self.refused(lambda: self.opt.tell(outside, self.number(1.0)))
        self.refused(lambda: self.opt.tell({**self.point(), "unknown": 1}, self.number(1.0)))

    def tell_bulk(self) -> None:
        self.tried["bulk data"] += 1
        points = [self.point() for _ in range(self.rng.integers(0, 30))]
        values = [self.measure(params) for params in points]
        self.refused(lambda: self.opt.tell_many([*points, {}], [*values, "text"]))
        for trial, told in zip(self.opt.tell_many(points, values), values, strict=True):
            self.note(trial, told)

    # corrections

    def amend(self) -> None:
        if (trial := self.one_of("complete", "failed", "abandoned")) is None:
            return
        self.tried["amended trial"] += 1
        told = self.measure(trial.params)
        if isinstance(told, dict) and self.rng.random() < 0.5:
            told = dict(list(told.items())[:1])
        self.note(self.opt.amend(trial, told), told, self.known[trial.id])

    def drop_or_restore(self) -> None:
        if (trial := self.one_of("complete", "failed")) is not None:
            self.tried["dropped or restored trial"] += 1
            (self.opt.restore if trial.dropped else self.opt.drop)(trial)
            self.dropped ^= {trial.id}

    def abandon(self) -> None:
        if (trial := self.one_of("pending")) is not None:
            self.tried["abandoned trial"] += 1
            self.opt.abandon(trial)
            self.states[trial.id] = "abandoned"

    def change_metrics(self) -> None:
        if self.rng.random() < 0.5:
            return
        before, goal = json.dumps(self.opt.state_dict()), draw_metrics(self.rng)
        old = self.opt.metrics
        if self.rng.random() < 0.3:
            goal["rename"] = {old.objective: next(iter(goal.get("objectives", [VALUE])))}
        try:
            change = self.opt.change_metrics(**goal)
        except ccgbo.SettingError:
            self.tried["refused change of metrics"] += 1
            check(json.dumps(self.opt.state_dict()) == before, "refused metrics changed the state")
            check(self.opt.metrics == old, "refused metrics changed the metrics")
            return
        self.tried["change of metrics"] += 1
        for i, values in self.known.items():
            self.known[i] = {change.rename.get(name, name): value for name, value in values.items()}

    def change_space(self) -> None:
        if self.rng.random() < 0.7:
            return
        before, old = json.dumps(self.opt.state_dict()), self.opt.space
        try:
            new, how = draw_change(self.rng, old)
            self.opt.change_space(Space(new, constraints=old.constraints), **how)
        except (ccgbo.SpaceError, ccgbo.SettingError, OverflowError):
            check(json.dumps(self.opt.state_dict()) == before, "a refused space changed the state")
            check(self.opt.space is old, "a refused space changed the space")
            return
        self.tried["change of space"] += 1
        self.moved = True

    # the rest of the interface

    def copy(self) -> Optimizer:
        """Another optimizer with the space, the metrics and the settings in force."""
        opt, metrics = self.opt, self.opt.metrics
        goal = {"direction": metrics.direction}
        if not metrics.plain:
            goal = {"objectives": metrics.objectives, "outcome_constraints": metrics.constraints}
        force: Any = {"preset": opt.settings, "acquisition": opt.settings.acquisition, "credit": opt.settings.credit}
        other = Optimizer(opt.space, **goal, **force, seed=0)
        other._prior = opt._prior  # that of a changed space cannot be said in the arguments
        check(other.settings == opt.settings, f"settings in force became {other.settings}")
        return other

    def save_and_load(self) -> None:
        self.tried["save and load"] += 1
        text = json.dumps(self.opt.state_dict(), allow_nan=False)
        other = self.copy()
        other.load_state_dict(json.loads(text))
        check(json.dumps(other.state_dict()) == text, "a state changed by being loaded")
        n = None if self.rng.random() < 0.7 else int(self.rng.integers(2, 5))
        theirs, before = next_of(other, n), self.opt.trials
        ours = next_of(self.opt, n)
        check(ours == theirs, f"the restored optimizer suggests {theirs}, the original {ours}")
        for i, trial in enumerate(ours if isinstance(ours, list) else []):
            self.suggested(trial, (*before, *ours[:i]), self.opt.space)

    def look(self) -> None:
        self.tried["looking"] += 1
        before, opt = json.dumps(self.opt.state_dict()), self.opt
        repr(opt), opt._repr_html_(), repr(opt.result())
        self.look_at_the_best()
        if all(opt._history.ids(name) for name in opt.metrics.objectives):
            self.look_at_the_model()
        for trial in opt.trials[-3:]:
            str(opt.explain(trial))
        check(json.dumps(opt.state_dict()) == before, "looking changed the state")

    def look_at_the_best(self) -> None:
        opt, metrics = self.opt, self.opt.metrics
        whole = {
            i: values
            for i, values in self.known.items()
            if self.states[i] == "complete" and i not in self.dropped
            if feasible(values, metrics) and all(name in values for name in metrics.objectives)
        }
        front = brute_force_front(whole, metrics)
        check({t.id for t in opt.pareto_front()} == front, f"the front is {front}")
        if not metrics.several and front:
            check(opt.best_trial.id in front, f"the best is one of {front}, not {opt.best_trial}")
        if front:
            volume = opt.hypervolume()
            check(volume.value >= 0.0, f"{volume}")
            check(all(map(math.isfinite, volume.reference.values())), f"{volume}")

    def look_at_the_model(self) -> None:
        opt, metrics = self.opt, self.opt.metrics
        found = opt.recommend()
        for one in found if isinstance(found, tuple) else (found,):
            pairs = [(one.mean, one.std), *one.metrics.values()]
            check(all(math.isfinite(mean) and math.isfinite(std) for mean, std in pairs), f"{one}")
            check(one.feasibility is None or 0.0 <= one.feasibility <= 1.0, f"{one}")
        credits = opt.credits()
        check(all(0.0 < row.credit <= 1.0 and math.isfinite(row.score) for row in credits), "credit out of range")
        check({t.id for t in opt.pareto_front(by="model")} <= set(self.known), "a front of unknown trials")
        measured = [name for name in metrics.names if opt._history.ids(name)]
        str(opt.diagnose(None if metrics.plain else measured[self.rng.integers(len(measured))]))
        gain = opt.expected_gain(3)
        check(gain is None or math.isfinite(gain.mean), f"{gain}")


def next_of(opt: Optimizer, n: int | None) -> Any:
    """The next suggestions, or the name of the error."""
    try:
        found = opt.ask() if n is None else opt.ask(n)
    except ccgbo.CcgboError as error:
        return type(error).__name__
    return found if isinstance(found, list) else [found]


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
