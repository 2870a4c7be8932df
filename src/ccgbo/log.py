"""The library's logger, and messages that are worth saying once."""

from __future__ import annotations

import inspect
import logging
import os
import warnings
from pathlib import Path
from typing import Any

logger = logging.getLogger("ccgbo")
_reported: set[str] = set()
_HERE = f"{Path(__file__).parent}{os.sep}"


def report_once(kind: str, message: str, *args: Any) -> None:
    """Log a fallback the first time it happens in this process."""
    if kind not in _reported:
        _reported.add(kind)
        logger.warning(message, *args)


def warn(category: type[Warning], message: str) -> None:
    """A warning about the line of the user's own code that led here."""
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
