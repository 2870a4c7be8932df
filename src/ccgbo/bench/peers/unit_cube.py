"""What peers that know only the unit cube share: points are encoded on the way in and decoded on the way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccgbo.arrays import Array
from ccgbo.space import Space


class UnitCube:
    def __init__(self, space: Space) -> None:
        self.space = space
        self.U: list[Array] = []
        self.y: list[float] = []

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        self.U.append(self.space.encode(point))
        self.y.append(value)
