"""The models of an optimizer's metrics: the last fit of each, and what was made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ccgbo.engine.fit_state import FitState
from ccgbo.engine.history import Data, History
from ccgbo.engine.model import Model, build_model
from ccgbo.engine.settings import Settings


class Models:
    """By metric. Only what is committed decides about later fits, so looking in between changes nothing."""

    def __init__(self) -> None:
        self.fits: dict[str, FitState] = {}
        self._committed: dict[str, Model] = {}
        self._looked: dict[str, tuple[Data, FitState | None, Model]] = {}  # the last model, and what it is of

    def copy(self) -> Models:
        new = Models()
        new.fits, new._committed, new._looked = self.fits.copy(), self._committed.copy(), self._looked.copy()
        return new

    def of(self, name: str, history: History, settings: Settings, *, commit: bool) -> Model:
        """The model of all observations of a metric."""
        data, fit, looked = history.data(name), self.fits.get(name), self._looked.get(name)
        if looked is not None and looked[0] is data and looked[1] is fit:
            model = looked[2]
        else:
            model = build_model(data, history.space.choices, settings, self._committed.get(name), fit)
            self._looked[name] = data, fit, model
        if commit:
            self._committed[name], self.fits[name] = model, model.fit
        return model

    def catch_up(self, history: History, settings: Settings) -> None:
        """Make the models of fits that were made elsewhere, of the observations that these are of."""
        for name, fit in self.fits.items():
            if not fit.theta or name in self._committed or name not in history.metrics.names or not history.ids(name):
                continue
            data = history.data(name)
            if fit.is_of(data):
                self._committed[name] = build_model(data[: fit.n], history.space.choices, settings, None, fit)

    def move_to(self, fits: Mapping[str, FitState]) -> None:
        """Take over fits that were made elsewhere; where they are those at hand, the models still stand."""
        for name in {*self.fits, *fits}:
            if fits.get(name) != self.fits.get(name):
                self._committed.pop(name, None)
        self.fits = dict(fits)


class WhenAsked(Mapping[str, Model]):
    """The models of the metrics, each made when it is first asked for: those that nobody needs are not fitted."""

    def __init__(self, names: tuple[str, ...], make: Callable[[str], Model]) -> None:
        self._names, self._make = names, make
        self._made: dict[str, Model] = {}

    def __getitem__(self, name: str) -> Model:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
