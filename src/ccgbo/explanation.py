"""Frozen records of why a point was suggested; values are in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

PROMISES = {  # by acquisition: what the chosen point has most of
    "EI": "it promises the largest improvement on average",
    "LogEI": "it promises the largest improvement on average",
    "UCB": "it could be the best within what the model is unsure of",
    "ThompsonSampling": "it is the best of one function drawn from what the model believes",
    "MES": "it tells most about how good the optimum is",
    "JES": "it tells most about where and how good the optimum is",
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

    def __str__(self) -> str:
        first, *rest = self.sentences()
        return "\n".join([first, *(f"  {line}" for line in rest)])

    def sentences(self) -> list[str]:
        """The same in plain words, one thing at a time."""
        if self.mean is None or self.std is None:
            return [self.reason]
        promise = PROMISES.get(self.acquisition or "", "it is the best point of the acquisition")
        lines = [f"{self.reason}: {promise} ({self.acquisition})", f"expected {self.mean:.6g} ± {self.std:.2g}"]
        if self.proxy is not None:
            lines[-1] += f"; the optimum of the whole space is estimated at {self.proxy:.6g}"
        return [*lines, self._credit(), *self._other_factors()]

    def _credit(self) -> str:
        if not self.neighbours or self.weight is None:
            return "credit did not act on this choice"
        near = ", ".join(f"{n.trial_id} ({n.credit:.2f})" for n in self.neighbours)
        said = f"credit of the trials around it: {near}"
        if self.weight == 1.0:
            return f"{said}; it did not change the choice"
        return f"{said}; by that its promise counts {_percent(self.weight)}"

    def _other_factors(self) -> list[str]:
        if not self.weight or self.factor is None or abs(self.factor / self.weight - 1.0) < 1e-3:
            return []
        return [
            f"failures nearby, or what was believed beforehand, make its promise count {_percent(self.factor)} in all"
        ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"
