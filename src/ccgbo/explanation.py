"""Frozen records of why a point was suggested, and how much each observation tells; values in the user's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ccgbo.markup import table
from ccgbo.text import printable

MIDDLE = "Recombination"  # in the place of an acquisition where none was maximised
PROMISES = {  # by acquisition: what the chosen point has most of
    "EI": "it promises the largest improvement on average",
    "LogEI": "it promises the largest improvement on average",
    "UCB": "it could be the best within what the model is unsure of",
    "ThompsonSampling": "it is the best of one function drawn from what the model believes",
    "MES": "it tells most about how good the optimum is",
    "JES": "it tells most about where and how good the optimum is",
    MIDDLE: "it is the middle of the most promising trials so far",
    "EHVI": "it promises to widen the front most on average",
    "Scalarized": "it promises most at one trade-off between the objectives, drawn at random",
    "Feasibility": "no feasible point is known yet, and it is the likeliest to be one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An observation near a suggestion."""

    trial_id: int
    distance: float  # as the credit field measures it: in the unit cube for "knn", else in lengthscales
    credit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a point was suggested, as the model saw it at that moment; values are in the user's units."""

    reason: str
    t: int | None = None  # iterations since the initial design
    acquisition: str | None = None
    mean: float | None = None
    std: float | None = None
    base: float | None = None  # base acquisition, in standardised units
    weight: float | None = None  # w_t(x), 1.0 where credit says nothing
    factor: float | None = None  # everything the base was multiplied by: credit, prior, chance of success
    proxy: float | None = None  # Z_t
    neighbours: tuple[Neighbour, ...] = ()  # none where credit did not act
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # expected value and std, by name
    feasibility: float | None = None  # of keeping every outcome constraint; None while one was never measured
    decided_by: str | None = None  # the metric that the choice turned on
    on_log_scale: bool = False  # whether the values were modelled as logarithms of their gaps to the best

    def __str__(self) -> str:
        first, *rest = self.sentences()
        return "\n".join([first, *(f"  {line}" for line in rest)])

    def sentences(self) -> list[str]:
        """The same in plain words, one thing at a time."""
        if self.acquisition is None:
            return [self.reason]
        promise = PROMISES.get(self.acquisition, "it is the best point of the acquisition")
        lines = [f"{self.reason}: {promise} ({self.acquisition})", f"expected {self._expected()}"]
        if self.proxy is not None:
            lines[-1] += f"; the optimum of the whole space is estimated at {self.proxy:.6g}"
        if self.feasibility is not None:
            lines.append(f"it keeps every outcome constraint with probability {self.feasibility:.2g}")
        if self.decided_by is not None:
            lines.append(f"the choice turned on {printable(self.decided_by)}")
        if self.on_log_scale:
            lines.append("values were told apart by the logarithm of their gaps to the best")
        return [*lines, self._credit(), *self._other_factors()]

    def _expected(self) -> str:
        if not self.metrics:
            return f"{self.mean:.6g} ± {self.std:.2g}"
        return ", ".join(f"{printable(name)} {mean:.6g} ± {std:.2g}" for name, (mean, std) in self.metrics.items())

    def _credit(self) -> str:
        if self.acquisition == MIDDLE:
            decided = "credit" if self.neighbours else "what the model expects there"
            return f"which trials these are was decided by {decided}"
        if not self.neighbours or self.weight is None:
            return "credit did not act on this choice"
        near = ", ".join(f"{n.trial_id} ({n.credit:.2f})" for n in self.neighbours)
        said = f"credit of the trials around it: {near}"
        if self.weight == 1.0:
            return f"{said}; it did not change the choice"
        return f"{said}; by that its promise counts {_percent(self.weight)}"

    def _other_factors(self) -> list[str]:
        if self.acquisition == MIDDLE or not self.weight or self.factor is None:
            return []
        if abs(self.factor / self.weight - 1.0) < 1e-3:
            return []
        if self.feasibility is not None and abs(self.factor / self.weight - self.feasibility) < 1e-3:
            return []
        return [
            f"failures nearby, or what was believed beforehand, make its promise count {_percent(self.factor)} in all"
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditRow:
    """How much one observation tells about where the optimum is."""

    trial_id: int
    params: Mapping[str, Any]
    value: float
    score: float  # raw counterfactual score s_i
    rank: float  # r_i in [0, 1]
    credit: float  # c_i in [floor, 1]
    values: Mapping[str, float] = field(default_factory=dict)  # by metric, where metrics have names
    feasibility: float | None = None  # probability of keeping every outcome constraint


class Credits(list[CreditRow]):
    """The credit of each observation, in the order they were told."""

    def _repr_html_(self) -> str:
        names = dict.fromkeys(name for row in self for name in row.params)
        measured = list(dict.fromkeys(name for row in self for name in row.values)) or ["value"]
        rows = [
            [
                row.trial_id,
                round(row.credit, 2),
                *([row.values.get(name) for name in measured] if row.values else [row.value]),
                *(row.params.get(name) for name in names),
            ]
            for row in sorted(self, key=lambda row: -row.credit)
        ]
        return table(["trial", "credit", *measured, *names], rows)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"
