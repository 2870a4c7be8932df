"""BLAS threads while suggesting. Small matrices on many cores are slower than on one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # finding the loaded libraries takes milliseconds, so it is done once, when NumPy's and SciPy's BLAS are loaded
    import numpy as np
    import scipy.linalg  # noqa: F401

    del np
    return ThreadpoolController()


def blas_threads(limit: int | None) -> AbstractContextManager[Any]:
    """Limit BLAS to ``limit`` threads inside the block; None leaves it alone."""
    return nullcontext() if limit is None else _controller().limit(limits=limit, user_api="blas")
