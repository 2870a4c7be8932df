"""How two parameters, or two lists of constraints, differ: in plain sentences, or why one cannot become the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ccgbo.errors import SpaceError
from ccgbo.space.constraints import LinearConstraint
from ccgbo.space.numeric import is_number
from ccgbo.space.parameters import Categorical, Float, Int, Parameter

LEAVE = "stay on record and leave the model"


def refuse_kinds(name: str, was: Parameter, now: Parameter) -> None:
    """Refuse a parameter that cannot become the other: its values would mean nothing there."""
    if isinstance(was, Categorical) and not isinstance(now, Categorical):
        for choice in was.choices:
            if not is_number(choice):
                raise SpaceError(
                    f"{name!r} is a choice between {list(was.choices)!r}, and {choice!r} has no place in a range of "
                    "numbers: add the range under another name."
                )
    if isinstance(now, Categorical) and not isinstance(was, Categorical) and not any(map(is_number, now.choices)):
        raise SpaceError(
            f"{name!r} is a number in {_range(was)}, and none of the choices {list(now.choices)!r} is a number: "
            "add the choice under another name."
        )


def differences(was: Parameter, now: Parameter, rename: Mapping[str, str]) -> list[str]:
    """What is new about a parameter, a sentence each; nothing if it is the same."""
    if isinstance(was, Categorical):
        lines = _choices(was, now) if isinstance(now, Categorical) else _choices_to_range(was, now)
    elif isinstance(now, Categorical):
        values = f"fixed at {now.choices[0]!r}" if now.size == 1 else f"one of {list(now.choices)!r}"
        lines = [f"{values} instead of a number in {_range(was)}; trials elsewhere {LEAVE}."]
    else:
        lines = _numbers(was, now)
    before, after = renamed(was.active_if, rename), now.active_if
    if before != after:
        lines.append(f"{_condition(after)}, before {_condition(before)}.")
    return lines


def _choices(was: Categorical, now: Categorical) -> list[str]:
    added = [choice for choice in now.choices if was.find(choice) is None]
    removed = [choice for choice in was.choices if now.find(choice) is None]
    lines = [f"{_listed(added)} added to the choices."] if added else []
    if removed:
        lines.append(f"{_listed(removed)} removed from the choices; trials there {LEAVE}.")
    if not added and not removed and [was.find(choice) for choice in now.choices] != list(range(was.size)):
        lines.append(f"the choices stand in another order: {_listed(now.choices)}.")
    return lines


def _choices_to_range(was: Categorical, now: Float | Int) -> list[str]:
    kind = "whole number" if isinstance(now, Int) else "number"
    below = any(choice <= 0 for choice in was.choices)
    return [f"a {kind} in {_range(now)} instead of one of {list(was.choices)!r}.", *_scale(False, now, below)]


def _numbers(was: Float | Int, now: Float | Int) -> list[str]:
    lines = []
    if type(was) is not type(now):
        lines.append("whole numbers instead of real ones." if isinstance(now, Int) else "real numbers, not only whole.")
    if (was.low, was.high) != (now.low, now.high):
        lines.append(_bounds(was, now))
    lines += _scale(was.log, now, was.low <= 0)
    said = type(was) is not type(now) and {was.step, now.step} == {None, 1}  # by "whole numbers"
    if was.step != now.step and not said:
        lines.append(f"{_step(now)} instead of {_step(was)}.")
    return lines


def _bounds(was: Float | Int, now: Float | Int) -> str:
    change = f"from {_range(was)} to {_range(now)}"
    if now.low <= was.low and was.high <= now.high:
        return f"widened {change}."
    verb = "narrowed" if was.low <= now.low and now.high <= was.high else "moved"
    if now.size == 1:
        return f"{verb} {change}, one value; trials elsewhere {LEAVE}."
    return f"{verb} {change}; trials beyond stay in the model, shown as outside."


def _scale(was_log: bool, now: Float | Int, below_zero: bool) -> list[str]:
    if was_log == now.log:
        return []
    if not now.log:
        return ["on a linear scale, before on a log scale."]
    gone = f"; trials at or below zero {LEAVE}" if below_zero else ""
    return [f"on a log scale, before on a linear one{gone}."]


def constraint_differences(was: Sequence[Any], now: Sequence[Any], rename: Mapping[str, str]) -> list[str]:
    """Constraints that are gone and those that are new."""
    before = [_with_names(c, rename) for c in was]
    lines = [f"constraint removed: {_spelled(c)}." for c in before if c not in now]
    lines += [
        f"constraint added: {_spelled(c)}; trials that break it stay in the model, shown as outside."
        for c in now
        if c not in before
    ]
    if not lines and before != list(now):
        lines.append("the constraints stand in another order.")
    return lines


def _with_names(constraint: Any, rename: Mapping[str, str]) -> Any:
    if not isinstance(constraint, LinearConstraint) or not set(constraint.coefficients) & set(rename):
        return constraint
    coefficients = {rename.get(name, name): a for name, a in constraint.coefficients.items()}
    return LinearConstraint(coefficients, lower=constraint.lower, upper=constraint.upper)


def renamed(active_if: Mapping[str, Any] | None, rename: Mapping[str, str]) -> dict[str, Any] | None:
    """A condition under the new names of its parents."""
    return None if active_if is None else {rename.get(parent, parent): v for parent, v in active_if.items()}


# -- words


def _range(p: Float | Int) -> str:
    return f"[{p.low!r}, {p.high!r}]"


def _step(p: Float | Int) -> str:
    return "no step" if p.step is None else f"steps of {p.step!r}"


def _listed(choices: Sequence[Any]) -> str:
    return ", ".join(map(repr, choices))


def _condition(active_if: Mapping[str, Any] | None) -> str:
    if active_if is None:
        return "always active"
    parts = [f"{parent} is {' or '.join(map(repr, values))}" for parent, values in active_if.items()]
    return f"active if {' and '.join(parts)}"


def _spelled(constraint: Any) -> str:
    return str(getattr(constraint, "__name__", None) or repr(constraint))
