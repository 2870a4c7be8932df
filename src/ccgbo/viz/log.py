"""What was changed by hand, as the pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ccgbo.records import Event
from ccgbo.text import differences, printable, shorten

MOST_EVENTS = 500  # the latest; `ccgbo log` has all
LONGEST = 2000  # characters of one change


def log_payload(log: Sequence[Event]) -> dict[str, Any]:
    """The latest events, the last first, and how many there are."""
    return {"count": len(log), "events": [_event(event) for event in reversed(log[-MOST_EVENTS:])]}


def _event(event: Event) -> dict[str, Any]:
    return {
        "at": event.at,
        "who": event.who,
        "action": event.action,
        "trial": event.trial_id,
        "changes": [shorten(printable(change), LONGEST) for change in differences(event.before, event.after)],
        "note": event.note,
    }
