"""Numbers as pages carry them: with few digits, and None where JSON has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def short_number(value: float, digits: int = 6) -> float | None:
    """A number with few digits, or None where JSON has none for it."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def numbers_list(values: Any, digits: int = 6) -> Any:
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [numbers_list(row, digits) for row in array]
    return [short_number(float(v), digits) for v in array]
