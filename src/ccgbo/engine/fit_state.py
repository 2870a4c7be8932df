"""What must be saved of a model so that another process makes the same one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccgbo.engine.history import Data


@dataclass(frozen=True, slots=True)
class FitState:
    """All that must be saved of a model: hyperparameters, and which observations they were fitted on."""

    theta: tuple[float, ...]
    n: int
    """How many."""
    checksum: int | None = None
    """Of these observations; None takes the first n for them."""
    scale: str | None = None
    """The transform of the values, where it was chosen by evidence; None is that of the settings."""

    def to_dict(self) -> dict[str, Any]:
        return {"theta": list(self.theta), "n": self.n, "checksum": self.checksum, "scale": self.scale}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FitState:
        return cls(tuple(data["theta"]), data["n"], data.get("checksum"), data.get("scale"))

    def is_of(self, data: Data) -> bool:
        """Whether the first ``n`` observations are still those of the fit: none was amended, dropped or restored."""
        return self.checksum is None or (self.n <= len(data.values) and self.checksum == checksum(data[: self.n]))


def checksum(data: Data) -> int:
    """Of where observations are and of their values; of positions nine digits, on which all machines agree."""
    return zlib.crc32(data.values.tobytes(), zlib.crc32((data.F.round(9) + 0.0).tobytes()))
