"""From one space to another: what becomes of the settings of trials so far.

    kept       in both spaces, or renamed: trials keep their value as it is on record, inside the new bounds or not
    added      only in the new one: trials so far get the stated default
    fixed      one value from now on; trials elsewhere cannot be told apart from those at it, and leave the model
    marginal   gone: the model no longer sees it, and what it did to the trials so far counts as noise

Values are never clipped, so a change and its way back leave every trial as it was. Where a trial lies in the new space,
or why it has no place there, is for ``Space.place_rows`` and ``Space.outside`` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ccgbo.errors import SpaceError
from ccgbo.space.differences import constraint_differences, differences, refuse_kinds, renamed
from ccgbo.space.numeric import is_number
from ccgbo.space.parameters import Categorical, Fixed, Float, Int, Parameter
from ccgbo.space.placement import active_names, place_value
from ccgbo.space.space import Space, as_space


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of space that can be meant, as ``change_space`` makes it."""

    old: Space
    """The space so far."""
    space: Space
    """The space from now on: the new one, with what was fixed."""
    rename: Mapping[str, str]
    """New names by old ones."""
    defaults: Mapping[str, Any]
    """Values of trials that have none."""
    fixed: Mapping[str, Any]
    """Parameters with one value from now on, by their name in the old space."""
    marginal: tuple[str, ...]
    """Parameters that the model no longer sees."""

    def apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a trial in the new space, with every value as it is on record.

        A value of an added parameter that is already there (see ``removed``) goes before its default.

        Parameters
        ----------
        params
            Settings by their names in the old space.
        """
        source = self._source()
        out, filled = {}, set()
        for name, p in self.space.items():
            origin = source.get(name, name if name not in self.old else None)
            if origin is not None and origin in params:
                out[name] = _plain(p, params[origin])
            elif name in self.defaults:
                out[name] = _plain(p, self.defaults[name])
                filled.add(name)
        if filled:
            filled -= active_names(self.space, out)  # a default is for where the parameter is active
        return {name: value for name, value in out.items() if name not in filled}

    def removed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What ``apply`` leaves out of a trial's settings: values of marginal parameters, to be kept on record.

        Parameters
        ----------
        params
            Settings by their names in the old space.
        """
        return {name: params[name] for name in self.marginal if name in params}

    def describe(self) -> list[str]:
        """What changes, a plain sentence each."""
        lines = [f"{was}: renamed to {now}." for was, now in self.rename.items()]
        lines += [
            f"{name}: removed; what it did to the trials so far counts as noise from now on." for name in self.marginal
        ]
        source = self._source()
        for name, p in self.space.items():
            if name not in source:
                where = "" if p.active_if is None else " where it is active"
                lines.append(f"{name}: added; trials so far get {self.defaults[name]!r}{where}.")
                continue
            found = differences(self.old[source[name]], p, self.rename)
            if found and source[name] in self.fixed:
                value = self.fixed[source[name]]
                found = [f"fixed at {value!r} from now on; trials elsewhere leave the model."]
            elif name in self.defaults:
                found.append(f"trials without a value get {self.defaults[name]!r}.")
            lines += [f"{name}: {what}" for what in found]
        lines += constraint_differences(self.old.constraints, self.space.constraints, self.rename)
        kept = [name for name in self.space if name in source]
        if kept != [self.rename.get(name, name) for name in self.old if self.rename.get(name, name) in kept]:
            lines.append(f"the parameters stand in another order: {', '.join(self.space)}.")
        return lines

    @property
    def nothing(self) -> bool:
        """Whether both spaces are the same."""
        return not self.describe()

    def _source(self) -> dict[str, str]:
        """Old names by new ones, of what is kept."""
        return {self.rename.get(name, name): name for name in self.old if name not in self.marginal}


def change_space(
    old: Space,
    new: Space | Mapping[str, Any],
    *,
    defaults: Mapping[str, Any] | None = None,
    rename: Mapping[str, str] | None = None,
    fixed: Mapping[str, Any] | None = None,
    marginal: Iterable[str] = (),
) -> Change:
    """The change from one space to another; refuses what cannot be meant, by name.

    Parameters
    ----------
    old
        The space so far.
    new
        The space from now on, or a mapping that is one.
    defaults
        Values that trials so far get of added parameters (they may lie outside the new bounds: it is what was really
        used), and of parameters that are active in more places than before.
    rename
        New names by old ones.
    fixed
        Parameters that have one value from now on: they are still passed on, are searched no more, and trials at
        other values leave the model. The new space may list them or leave them out.
    marginal
        Parameters that are left out of the new space and that the model no longer sees: trials at any of their values
        stay in it, and differ by noise.
    """
    names = {was: now for was, now in _mapping("rename", rename).items() if was != now}
    fixed, defaults = _mapping("fixed", fixed), _mapping("defaults", defaults)
    gone = tuple(marginal) if not isinstance(marginal, str) else (marginal,)
    for label, given in (("rename", names), ("fixed", fixed), ("marginal", gone)):
        for name in given:
            if name not in old:
                raise SpaceError(f"{label} names an unknown parameter {name!r}; the space has {list(old.names)!r}.")
    space = _with_fixed(old, new, fixed, names)
    _check_rename(old, space, names)
    _check_removed(old, space, names, gone)
    defaults = _checked_defaults(old, space, names, defaults)
    for name in old:
        if name not in gone:
            refuse_kinds(names.get(name, name), old[name], space[names.get(name, name)])
    return Change(old=old, space=space, rename=names, defaults=defaults, fixed=fixed, marginal=gone)


def _mapping(label: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise SpaceError(f"{label} must be a mapping of parameter names, got {given!r}.")
    return dict(given or {})


def _with_fixed(
    old: Space, new: Space | Mapping[str, Any], fixed: Mapping[str, Any], rename: Mapping[str, str]
) -> Space:
    """The new space with a constant for each parameter that is fixed."""
    if not fixed or not isinstance(new, Mapping):
        return as_space(new)
    constants = {rename.get(name, name): _constant(name, old[name], value, rename) for name, value in fixed.items()}
    order = list(new)
    for i, name in enumerate(old):  # one that the new space leaves out stands where it stood
        if name in fixed and rename.get(name, name) not in order:
            before = [rename.get(other, other) for other in old.names[:i]]
            at = max((order.index(other) + 1 for other in before if other in order), default=0)
            order.insert(at, rename.get(name, name))
    table = {**new, **constants}
    return Space({name: table[name] for name in order}, constraints=new.constraints if isinstance(new, Space) else ())


def _constant(name: str, p: Parameter, value: Any, rename: Mapping[str, str]) -> Parameter:
    condition = renamed(p.active_if, rename)
    try:
        if isinstance(p, Categorical):
            return Fixed(value, active_if=condition)
        whole = isinstance(p, Int) and is_number(value) and value == int(value)
        return Int(int(value), int(value), active_if=condition) if whole else Float(value, value, active_if=condition)
    except SpaceError as error:
        raise SpaceError(f"fixed[{name!r}]: {error}") from None


def _check_rename(old: Space, space: Space, rename: Mapping[str, str]) -> None:
    for was, now in rename.items():
        if now not in space:
            raise SpaceError(f"rename[{was!r}]: the new space has no {now!r}; it has {list(space.names)!r}.")
        if (now in old and now not in rename) or list(rename.values()).count(now) > 1:
            raise SpaceError(f"rename[{was!r}]: two parameters would be called {now!r}.")


def _check_removed(old: Space, space: Space, rename: Mapping[str, str], marginal: Iterable[str]) -> None:
    for name in marginal:
        if rename.get(name, name) in space:
            raise SpaceError(f"marginal names {name!r}, which is still in the new space: leave it out there.")
    for name in old:
        if name not in rename and name not in space and name not in marginal:
            raise SpaceError(
                f"{name!r} is missing in the new space: say fixed={{{name!r}: value}} (trials elsewhere leave the "
                f"model), marginal=[{name!r}] (they stay, and differ by noise) or rename={{{name!r}: new name}}."
            )


def _checked_defaults(
    old: Space, space: Space, rename: Mapping[str, str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """The default of each added parameter, in the order of the space."""
    for name, value in defaults.items():
        if name not in space:
            raise SpaceError(f"defaults names an unknown parameter {name!r}; the space has {list(space.names)!r}.")
        try:
            place_value(space[name], name, value)
        except SpaceError as error:
            raise SpaceError(f"defaults[{name!r}]: {error}") from None
    kept = {rename.get(name, name) for name in old}
    out = {}
    for name, p in space.items():
        if name in defaults:
            out[name] = _plain(p, defaults[name])
        elif name not in kept and p.size == 1:
            out[name] = p.from_unit(0.5)  # the only value there is
        elif name not in kept:
            raise SpaceError(
                f"{name!r} is new: which value had the trials so far? Say defaults={{{name!r}: value}}, "
                f"or rename={{old name: {name!r}}} if it was called otherwise."
            )
    return out


def _plain(p: Parameter, value: Any) -> Any:
    """A value in the type of its parameter, where it can be one."""
    return p.canonical(value) if isinstance(p, Categorical) or is_number(value) else value
