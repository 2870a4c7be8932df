"""CMA-ES of the package cmaes: mean at the best given point, sigma 0.3, its default population; IPOP restarts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cmaes  # noqa: F401  the served class needs it when a run starts; say so at once

from ccgbo.bench.peers.served import Cmaes
from ccgbo.bench.peers.unit_cube import UnitCube
from ccgbo.space import Space


class CmaesSearch(UnitCube):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space)
        self._peer = Cmaes(space.d, seed)

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        super().tell(point, value)
        self._peer.tell(self.U[-1], value)

    def ask(self) -> dict[str, Any]:
        return self.space.decode(self._peer.ask())
