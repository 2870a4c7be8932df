"""What the search for the next point looks at: the same whether a point is suggested or the search is only shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import Acquisition, Factor, Score, weigh
from ccgbo.credit.field import CreditFactor
from ccgbo.credit.proxy import Optima
from ccgbo.credit.scores import Scores

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ground:
    """Candidates, and the weighted acquisition with all that it is made of."""

    acquisition: Acquisition
    U: Array  # (m, d) candidates
    F: Array  # (m, p) their features
    optima: Optima | None  # of posterior paths, where something needs them
    scores: Scores | None
    credit: CreditFactor | None
    factors: Sequence[Factor | None]  # credit among them
    base: Score
    alpha: Array  # (m,) of the base at the candidates
    weighted: Score
    values: Array  # (m,) of the weighted score at the candidates

    def without_credit(self) -> Ground:
        rest = [factor for factor in self.factors if factor is not self.credit]
        weighted, values = weigh(self.base, self.alpha, self.acquisition.scale, rest, self.F)
        return replace(self, scores=None, credit=None, factors=rest, weighted=weighted, values=values)
