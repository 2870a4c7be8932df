"""The library's logger, and messages that are worth saying once."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("ccgbo")
_reported: set[str] = set()


def report_once(kind: str, message: str, *args: Any) -> None:
    """Log a fallback the first time it happens in this process."""
    if kind not in _reported:
        _reported.add(kind)
        logger.warning(message, *args)
