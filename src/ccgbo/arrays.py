"""Array types that every module names alike, and how large a number in them may become."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
LARGEST = 1.7e308  # what is computed is cut off here: near the largest float, with room for a rounding

__all__ = ["LARGEST", "Array", "Index"]
