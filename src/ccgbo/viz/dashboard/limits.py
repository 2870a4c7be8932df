"""How much of the dashboard one visitor can take: connections, time to send a request, lines in the log.

Everybody on the machine can connect, also those without the token. Whoever holds a connection without sending a whole
request is let go after ``SECONDS``, and earlier when there are too many connections: the one that has waited longest
goes first, so that those who only hold connections push each other out and not a page that asks.
"""

from __future__ import annotations

import asyncio
import logging
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0  # for a whole request to arrive
MOST_CONNECTIONS = 256
BACKLOG = 64  # connections taken at a time: asyncio would take thousands before it looks at the first
LINES = 5  # of the same message
PER = 60.0  # seconds


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 for visitors of any intent."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late: asyncio.TimerHandle | None = None
        self._begin_to_wait()
        if len(self.connections) > most_connections():
            ours = [c for c in self.connections if isinstance(c, LimitedProtocol)]
            waiting = [c for c in ours if c.waits and not c.transport.is_closing()]
            min(waiting, key=lambda connection: connection.since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._late is None:  # the first of a further request
            self._begin_to_wait()
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._stop_waiting()
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether there is nothing to do here before more arrives."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _begin_to_wait(self) -> None:
        self.since = self.loop.time()
        self._late = self.loop.call_later(SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        if self.waits:
            self.transport.abort()


def most_connections() -> int:
    """Connections at a time; each is a descriptor, and studies need some, too."""
    try:
        import resource
    except ImportError:  # not a Unix
        return MOST_CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(min(MOST_CONNECTIONS, soft // 2), 8)


class Sparingly(logging.Filter):
    """Lets the same message pass ``LINES`` times in ``PER`` seconds, and then says how many it kept back."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}  # beginning of the period, count

    def filter(self, record: logging.LogRecord) -> bool:
        now, key = time.monotonic(), str(record.msg)[:200]
        began, count = self._seen.get(key, (now, 0))
        if now - began >= PER:
            if count > LINES:
                record.msg = f"{record.msg} ({count - LINES} more like this were not shown)"
            began, count = now, 0
        if len(self._seen) > 100:
            self._seen.clear()
        self._seen[key] = (began, count + 1)
        return count < LINES


def quieten() -> None:
    """Log sparingly what visitors can provoke."""
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(Sparingly())
