"""Hypothesis strategies: random parameters and spaces, legal ones only."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, settings
from hypothesis import strategies as st

from ccgbo import Bool, Categorical, Fixed, Float, Int, LinearConstraint, Mixture, Space

# the same examples on every machine, however slow it is
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")

CHOICES = ["a", "b", None, 3, 2.5, True, "ü\n\"'", ""]


@st.composite
def floats(draw: st.DrawFn) -> Float:
    low = draw(st.sampled_from([0.0, 1.0, -5.0, 1e-9, 1e6, -1e300, 1e-200, 3.7]))
    width = max(abs(low), 1.0) * draw(st.sampled_from([1e-3, 1.0, 1e3]))
    return Float(low, low + width)


@st.composite
def log_floats(draw: st.DrawFn) -> Float:
    low, high = draw(st.floats(-300.0, 0.0)), draw(st.floats(1.0, 300.0))
    return Float(10.0**low, 10.0**high, log=True)


@st.composite
def stepped_floats(draw: st.DrawFn) -> Float:
    low, step = draw(st.sampled_from([0.0, -1.0, 0.1, 100.0])), draw(st.sampled_from([0.1, 0.25, 0.3, 2.0]))
    return Float(low, low + step * draw(st.integers(0, 30)) + draw(st.sampled_from([0.0, 0.04])), step=step)


@st.composite
def ints(draw: st.DrawFn) -> Int:
    low = draw(st.integers(-100, 100))
    return Int(low, low + draw(st.integers(0, 300)), step=draw(st.integers(1, 4)))


@st.composite
def large_ints(draw: st.DrawFn) -> Int:
    if draw(st.booleans()):
        return Int(1, 10 ** draw(st.integers(1, 12)), log=True)
    return Int(-(2**47), 2 ** draw(st.integers(0, 48)))


@st.composite
def categoricals(draw: st.DrawFn) -> Categorical:
    return Categorical(CHOICES[: draw(st.integers(1, len(CHOICES)))])


def numbers() -> st.SearchStrategy[Any]:
    return st.one_of(floats(), log_floats(), stepped_floats(), ints(), large_ints(), st.just(Float(2.0, 2.0)))


def bounded_numbers() -> st.SearchStrategy[Any]:
    """Numbers of sizes that can be added up: at most a few decades of each."""
    logs = st.builds(lambda low, k: Float(low, low * 10.0**k, log=True), st.floats(1e-4, 10.0), st.integers(1, 4))
    return st.one_of(logs, stepped_floats(), ints(), st.builds(lambda k: Int(1, 10**k, log=True), st.integers(1, 3)))


def parameters() -> st.SearchStrategy[Any]:
    return st.one_of(numbers(), categoricals(), st.just(Bool()), st.just(Fixed("constant")))


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """One to four parameters, sometimes a tree of conditional ones beside them."""
    table = {f"p{i}": p for i, p in enumerate(draw(st.lists(parameters(), min_size=1, max_size=4)))}
    if draw(st.booleans()):
        table["kind"] = Categorical(["x", "y", "z"])
        table["child"] = Float(0.0, 2.0, active_if={"kind": ["x", "y"]})
        table["grandchild"] = Int(1, 5, active_if={"kind": "x"})
        table["option"] = Categorical(["m", "n", "o"], active_if={"grandchild": [1, 2]})
    return Space(table)


@st.composite
def mixtures(draw: st.DrawFn) -> Space:
    """Two to six parts with random bounds, sometimes two mixtures that share parts, a sum below a limit, others beside.

    They meet in a point, so there is something to find; at times nothing else.
    """
    scale = draw(st.sampled_from([1.0, 100.0, 1e-3]))
    names = [f"part{i}" for i in range(draw(st.integers(2, 6)))]
    parts, point = {}, {}
    for name in names:
        low, width = draw(st.sampled_from([0.0, 0.0, 0.05, 0.3])), draw(st.sampled_from([0.01, 0.2, 1.0]))
        parts[name] = Float(scale * low, scale * (low + width))
        share = draw(st.one_of(st.sampled_from([0.0, 0.001, 0.5, 1.0]), st.floats(0.0, 1.0)))
        point[name] = min(max(scale * (low + share * width), parts[name].low), parts[name].high)
    assume(sum(point.values()) > 0.0)
    constraints: list[LinearConstraint] = [Mixture(names, total=sum(point.values()))]
    some = names[: draw(st.integers(1, len(names)))]
    if len(some) > 1 and sum(point[name] for name in some) > 0.0 and draw(st.booleans()):
        constraints.append(Mixture(some, total=sum(point[name] for name in some)))
    if draw(st.booleans()):
        limit = point[names[0]] + 2.0 * point[names[1]] + 0.1 * scale
        constraints.append(LinearConstraint({names[0]: 1.0, names[1]: 2.0}, upper=limit))
    tree = {"kind": Categorical(["x", "y"]), "t": Float(0.0, 1.0, active_if={"kind": "x"})}
    return Space(parts | (tree if draw(st.booleans()) else {}), constraints=constraints)
