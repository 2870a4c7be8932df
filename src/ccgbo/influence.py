"""Frozen records of what would be believed without some observations; values are in the user's units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from ccgbo.markup import block, lines, table
from ccgbo.text import count, printable

SAME = 0.01  # share of a range: places closer than this are the same
STORY = 3  # observations in a story

Groups = Mapping[str, Iterable[Any] | Callable[[Any], bool]]
"""Observations that are left out together, by name: trials or their ids, or a predicate of a trial."""


class InfluenceOptions(TypedDict, total=False):
    """The arguments of ``influence`` beside the groups, see ``Optimizer.influence``."""

    by: str | None
    top: int
    suggestion: bool
    refit: bool
    shapley: int
    n_paths: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """Where the optimum is thought to be."""

    params: Mapping[str, Any]
    """The place where the model expects the best value."""
    mean: float
    """The value it expects there."""
    proxy: float
    """The best value of the whole space: the mean over posterior functions of the best of each. Z_t of the paper."""

    def __str__(self) -> str:
        return f"near {words(self.params)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """What would be believed without some observations."""

    trial_ids: tuple[int, ...]
    """The observations."""
    worth: float
    """What acting without them would cost, never negative: how far a posterior function falls from its best place to
    the place that would be thought its best, on average."""
    worth_error: float | None
    """Its standard error over the posterior functions; None of a single one."""
    hope: float
    """How much better the optimum would be thought without them. Positive: they rule something out; negative: the
    hope rests on them."""
    optimum: Optimum | None
    """Where the optimum would be thought to be; None if no observation is left."""
    moved: float | None
    """How far that is from where it is thought to be: the largest change of a parameter as a share of its range, 1 if
    a choice is another."""
    doubt: float
    """The share of posterior functions whose best place would be another."""
    elsewhere: Mapping[str, Any] | None
    """Of these places the one where most would be lost; None if there is none."""
    recommended: int | None
    """The trial that would be recommended; None if no observation is left."""
    refitted: Optimum | None = None
    """Where the optimum would be thought to be if the hyperparameters were learned without them as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluenceRow(Counterfactual):
    """What would be believed without one observation."""

    trial_id: int
    params: Mapping[str, Any]
    value: float
    credit: float
    """c_i, see ``CreditRow``."""
    share: float | None = None
    """Its part of what all observations are worth together (Shapley value), with ``shapley``."""
    share_error: float | None = None
    """The standard error of the share over the sampled orders; None of a single one."""

    def __str__(self) -> str:
        return f"without {_told(self)} {_consequences(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInfluence(Counterfactual):
    """What would be believed without a group of observations."""

    name: str

    def __str__(self) -> str:
        size = count(len(self.trial_ids), "observation")
        return f"without {printable(self.name)} ({size}) {_consequences(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What would be predicted at a point without one observation."""

    trial_id: int
    mean: float
    std: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionChange:
    """What would be suggested without some observations."""

    name: str
    trial_ids: tuple[int, ...]
    params: Mapping[str, Any]
    moved: float
    """The largest change of a parameter as a share of its range, 1 if a choice is another."""

    @property
    def changes(self) -> bool:
        """Whether it would be another place."""
        return self.moved > SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class PointInfluence:
    """Why a point: what is predicted there, on which observations that rests, and what would be suggested without."""

    params: Mapping[str, Any]
    mean: float
    std: float
    supports: tuple[Support, ...]
    """The observations that change the prediction there most, the most first."""
    changes: tuple[SuggestionChange, ...] = ()
    """What would be suggested instead, of the next suggestion."""

    def __str__(self) -> str:
        head = f"{words(self.params)}: expected {self.mean:.4g} ± {self.std:.2g}"
        because = [change for change in self.changes if change.changes]
        if because:
            lines = [f"  without {printable(c.name)} it would have been {words(c.params)}" for c in because]
            return "\n".join([f"{head}; suggested because of {_named(because)}", *lines])
        if self.changes:
            return f"{head}; it would have been suggested without {_named(self.changes, 'or')} as well"
        lines = [f"  without trial {s.trial_id} it would be {s.mean:.4g} ± {s.std:.2g}" for s in self.supports]
        return "\n".join([head + ", which rests on these observations:" if lines else head, *lines])


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """Which observations the belief about the optimum rests on, and what would be believed without them."""

    rows: tuple[InfluenceRow, ...]
    """One for each observation, in the order they were told."""
    groups: tuple[GroupInfluence, ...]
    optimum: Optimum
    recommended: int
    """The trial that is recommended."""
    suggestion: PointInfluence | None = None
    """The next suggestion; None unless asked for, and while it is a point of the initial design."""
    n_paths: int
    """Posterior functions behind the figures."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[InfluenceRow]:
        return iter(self.rows)

    def ranked(self) -> list[InfluenceRow]:
        """The rows by their worth, the most first."""
        return sorted(self.rows, key=lambda row: -row.worth)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        best = self.optimum
        lines = [
            f"The optimum is probably {best}, where {best.mean:.4g} is expected. That rests on",
            *(f"  {_told(row)}, credit {row.credit:.2f}" for row in self._credited()),
        ]
        valuable = [row for row in self.ranked() if row.worth > 0.0][:STORY]
        if valuable:
            lines += [
                "It is probably not elsewhere. That rests on",
                *(f"  {_told(row)}: without it {_loss(row)}" for row in valuable),
            ]
        lines.append(_recommendation(self.recommended, [row for row in self if row.recommended != self.recommended]))
        lines += [f"W{str(group)[1:]}" for group in self.groups]
        if self.suggestion is not None:
            lines.append(f"Next {self.suggestion}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = dict.fromkeys(name for row in self for name in row.params)
        rows = [
            [row.trial_id, row.worth, f"{row.doubt:.0%}", round(row.credit, 2), row.value, *map(row.params.get, names)]
            for row in self.ranked()
        ]
        head = str(self).splitlines()[0].removesuffix(" That rests on")
        told = table(["trial", "worth", "sought elsewhere without it", "credit", "value", *names], rows, most=10)
        return block("What each observation is worth", lines(head), told)

    def _credited(self) -> list[InfluenceRow]:
        return sorted(self.rows, key=lambda row: -row.credit)[:STORY]


def words(params: Mapping[str, Any]) -> str:
    """A point in one line."""
    return ", ".join(f"{printable(name)} = {_short(value)}" for name, value in params.items())


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def _told(row: InfluenceRow) -> str:
    return f"trial {row.trial_id} ({row.value:.6g} at {words(row.params)})"


def _consequences(row: Counterfactual) -> str:
    """What would be believed, and lost by acting on it."""
    if row.optimum is None or row.moved is None:
        return f"nothing would be known; {_loss(row)}"
    place = str(row.optimum) if row.moved > SAME else "at the same place"
    return f"the optimum would be thought {place}; {_loss(row)}"


def _loss(row: Counterfactual) -> str:
    if row.worth == 0.0:
        return "nothing would be lost"
    lost = f"{row.worth:.2g} would be lost on average"
    if row.elsewhere is None:
        return lost
    where = f"as at {words(row.elsewhere)}, in {row.doubt:.0%} of the functions that fit"
    return f"the best would be sought elsewhere, {where}, and {lost}"


def _recommendation(recommended: int, changed: Sequence[InfluenceRow]) -> str:
    instead: dict[int, list[str]] = {}
    for row in changed:
        if row.recommended is not None:
            instead.setdefault(row.recommended, []).append(str(row.trial_id))
    if list(instead.values()) in ([], [[str(recommended)]]):
        return f"Trial {recommended} is recommended, whichever other observation were missing."
    rest = [f"trial {i} without trial {_listed(ids, 'or')}" for i, ids in instead.items()]
    return f"Trial {recommended} is recommended; {_listed(rest)}."


def _named(changes: Sequence[SuggestionChange], word: str = "and") -> str:
    """Trials by their ids, then groups by their names."""
    trials = [str(c.trial_ids[0]) for c in changes if c.name == f"trial {c.trial_ids[0]}"]
    groups = [printable(c.name) for c in changes if c.name != f"trial {c.trial_ids[0]}"]
    named = [f"trial{'s' if len(trials) > 1 else ''} {_listed(trials, word)}"] if trials else []
    return f" {word} ".join(named + ([_listed(groups, word)] if groups else []))


def _listed(parts: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
