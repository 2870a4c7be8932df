from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .postgres_server import PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    from .postgres_server import PostgresServer

    running = PostgresServer()
    yield running
    running.close()


@pytest.fixture
def database(server: PostgresServer) -> str:
    """The address of an empty database, with its password."""
    return server.new_database()
