"""Tokens of steps in PostgreSQL: whether a step was kept whose commit was not answered.

The last message of a step puts a random token into ``ccgbo_steps`` and commits: it is kept together with all that the
step did, or not at all. Where no answer comes, the token is claimed in another transaction:

- It is there: the step was kept.
- It is not there: the claim takes its place. The step was not kept and never will be, because a commit that is still
  on its way finds its token taken and fails.
- The server is committing it at this moment: the claim waits until that has ended.

The column ``kept`` says who was first, the step or the claim: a claim whose own answer was lost finds itself when it is
made again. Either way the claim writes, so that its commit is as durable as any other, also on standbys that the server
waits for. The server's numbers of transactions would not do: those that are lost in a crash, or when a standby takes
over, are given to other transactions.

A token is of no use once its step is answered: the next step of the process deletes it. What processes that ended have
left behind, and claims, stay for a day.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg

STAY_HOURS = 24  # of a token that nobody has deleted; far longer than anybody asks, or than a commit is on its way
CLAIM_SECONDS = 10  # that one claim waits for the end of a commit

_CLAIM = """
    INSERT INTO ccgbo_steps (token, kept) VALUES (%s, false)
    ON CONFLICT (token) DO UPDATE SET at = clock_timestamp() RETURNING kept
"""
_LEFT = f"""
    SELECT token FROM ccgbo_steps WHERE at < clock_timestamp() - interval '{STAY_HOURS} hours' FOR UPDATE SKIP LOCKED
"""


def commit(token: UUID, answered: UUID | None) -> str:
    """The last message of a step; ``answered`` is the token of the step before, None for the first of a process."""
    old = f"token IN ({_LEFT})" if answered is None else f"token = '{answered}'"
    new = f"INSERT INTO ccgbo_steps (token, kept) VALUES ('{token}', true)"
    return f"DELETE FROM ccgbo_steps WHERE {old}; {new}; COMMIT"


def claim(connection: psycopg.Connection[dict[str, Any]], token: UUID) -> bool:
    """Whether the step was kept; if not, it cannot be any more."""
    connection.execute(f"SET lock_timeout = '{CLAIM_SECONDS}s'")
    row = connection.execute(_CLAIM, (token,)).fetchone()
    assert row is not None
    return bool(row["kept"])
