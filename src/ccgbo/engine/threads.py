"""BLAS threads and freed memory while suggesting. Small matrices on many cores are slower than on one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # finding the loaded libraries takes milliseconds, so it is done once, when NumPy's and SciPy's BLAS are loaded
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB that were freed, instead of giving them back and asking again.

    A suggestion makes and frees matrices of a megabyte or so. glibc returns such blocks to the kernel and pays a page
    fault for every 4 kB of the next one, a quarter of the whole time; freeing one large block, never touched, raises
    the threshold from which it does so (``mallopt(3)``, M_MMAP_THRESHOLD). Elsewhere this does nothing.
    """
    np.empty(2**25 - 2**16, dtype=np.uint8)


def blas_threads(limit: int | None) -> AbstractContextManager[Any]:
    """Limit BLAS to ``limit`` threads inside the block; None leaves it alone."""
    _keep_freed_memory()
    return nullcontext() if limit is None else _controller().limit(limits=limit, user_api="blas")
