"""A look inside an optimizer at one moment: posterior, credits, credit field, base and weighted acquisition.

Looking changes nothing: the generator is a copy and no refit is committed, so the next ``ask`` suggests what it would
have suggested.

    n  observations in the model, m  points looked at
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import BoundAcquisition
from ccgbo.arrays import Array
from ccgbo.credit.field import FIELDS
from ccgbo.engine.proposal import aim_of
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SettingError
from ccgbo.viz.axes import axis_of
from ccgbo.viz.layers import Layers, Map, Slice
from ccgbo.viz.moment import Moment
from ccgbo.viz.moment import Source as Source
from ccgbo.viz.moment import optimizer_of as optimizer_of

MOST_SEEN = 24  # cuts that are kept
LEAST_LOG = 25.0  # of the logarithm of an acquisition, below its highest in a cut: far less is nothing


class ModelView(Moment):
    """Everything ``ask`` would look at now. Raises NoObservationsError before the first value.

    Where acquisitions take turns, the acquisition shown is the next one that credit weighs. Where metrics have names,
    the model shown is that of one of them, by default of the (first) objective: ``of`` shows another.
    """

    def __init__(self, source: Source, *, metric: str | None = None) -> None:
        super().__init__(source, metric=metric)
        self.base: BoundAcquisition = self.proposal.base
        self.weighted: BoundAcquisition = self.proposal.weighted
        self._credit = self.proposal.credit
        self._log = self.goals is not None and self.proposal.acquisition.codomain == "log"
        self._seen: dict[bytes, tuple[Array, ...]] = {}  # shared with the views of other metrics

    # -- the space

    def at(self, params: Sequence[Mapping[str, Any]]) -> Layers:
        """The model at points of the space."""
        return self.at_units(np.array([self.space.encode(point) for point in params]).reshape(-1, self.space.d))

    def at_units(self, U: Array) -> Layers:  # (m, d)
        F = self.space.features(self.space.snap(U))
        with blas_threads(1):
            y, spread = self.model.posterior.predict(F)
            mean, std = self.in_user_units(y, spread)
            ends = self.to_user_units(y - 1.96 * spread), self.to_user_units(y + 1.96 * spread)
            low, high = np.minimum(*ends), np.maximum(*ends)
            return Layers(mean, std, low, high, *self._guidance(F))

    def _guidance(self, F: Array) -> tuple[Array, ...]:
        """What does not depend on the metric that is shown; kept, since the others are looked at in the same places."""
        key = F.tobytes()
        found = self._seen.get(key)
        if found is None:
            weight = np.ones(len(F)) if self._credit is None else self._credit.weight(F)
            found = self._field(F), weight, self.base(F), self.weighted(F), self.feasibility(F)
            if len(self.measured) > 1:
                self._seen[key] = found
            if len(self._seen) > MOST_SEEN:
                self._seen.pop(next(iter(self._seen)))
        return found

    def feasibility(self, F: Array) -> Array:  # (m, p) -> (m,)
        """The probability that every outcome constraint is kept; NaN while one of them was never measured."""
        goals = self.goals
        if goals is None or not goals.metrics.constraints:
            return np.ones(len(F))
        if goals.unmeasured:
            return np.full(len(F), np.nan)
        bounded = goals.constraints({name: goals.models[name].posterior for name in goals.bounded})
        result: Array = np.exp(np.minimum(sum(part.log_probability(F) for part in bounded), 0.0))
        return result

    def _field(self, F: Array) -> Array:
        """pi(x), shown even where ``strength=0`` keeps it from acting."""
        c = self.settings.credit
        credit = self.scores.credit
        if len(credit) < max(c.n_neighbours, 2) or not self.scores.informative:
            return np.ones(len(F))
        return FIELDS[c.field](aim_of(self.state).places(), credit, c.n_neighbours)(F)

    # -- cuts through the space

    def slice(self, name: str, *, m: int = 101, through: Mapping[str, Any] | None = None) -> Slice:
        """Along one parameter, the others held at ``through`` (the recommended point if not given)."""
        axis, centre = axis_of(self.space, name, m), self._centre([name], through)
        U = np.repeat(centre[None, :], len(axis.units), axis=0)
        U[:, self.space.names.index(name)] = axis.units
        layers, hidden = self._visible(U, [name])
        return Slice(axis, layers.shaped((len(axis.units),), hidden), self.space.decode(centre))

    def map(self, x: str, y: str, *, m: int = 61, through: Mapping[str, Any] | None = None) -> Map:
        """Over two parameters, the others held at ``through`` (the recommended point if not given)."""
        if x == y:
            raise SettingError(f"x and y must be different parameters, got {x!r} twice.")
        across, up, centre = axis_of(self.space, x, m), axis_of(self.space, y, m), self._centre([x, y], through)
        shape = len(up.units), len(across.units)
        U = np.repeat(centre[None, :], shape[0] * shape[1], axis=0)
        U[:, self.space.names.index(x)] = np.tile(across.units, shape[0])
        U[:, self.space.names.index(y)] = np.repeat(up.units, shape[1])
        layers, hidden = self._visible(U, [x, y])
        return Map(across, up, layers.shaped(shape, hidden), self.space.decode(centre))

    def _visible(self, U: Array, names: Sequence[str]) -> tuple[Layers, NDArray[np.bool_]]:
        """The model at points that differ in the named parameters, and which of them may not be evaluated.

        The other parts of a mixture make up for a named one, in proportion: along one part that is Cox's direction.
        """
        snapped = self.space.complete(self.space.snap(U), [self.space.names.index(name) for name in names])
        hidden = ~self.space.feasible(snapped) if self.space.constraints else np.zeros(len(U), dtype=bool)
        layers = self.at_units(snapped)
        if self._log:
            base, weighted = (np.maximum(part, part.max() - LEAST_LOG) for part in (layers.base, layers.weighted))
            layers = replace(layers, base=base, weighted=weighted)
        return layers, hidden

    def _centre(self, names: Sequence[str], through: Mapping[str, Any] | None) -> Array:  # (d,)
        """The best predicted observation in which the parameters looked at are active, or the point given.

        Of one that lies outside the space the point of the space beside it.
        """
        if through is not None:
            return self.space.encode(through)
        for i in self.by_merit:
            if all(name in self.credited[i].params for name in names):
                centre: Array = self.space.snap(self.space.place_rows([self.credited[i].params])[0])[0]
                return centre
        raise SettingError(f"no observation has a value for all of {list(names)!r}; give one by through=.")


def view_of(source: Source | ModelView, metric: str | None = None) -> ModelView:
    """A look inside, of one metric if that is named."""
    return source.of(metric) if isinstance(source, ModelView) else ModelView(source, metric=metric)
