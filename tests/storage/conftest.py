from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ccgbo

if TYPE_CHECKING:
    from .postgres_proxy import Proxy
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


@pytest.fixture
def proxy(tmp_path: Path, server: PostgresServer) -> Iterator[Proxy]:
    from .postgres_proxy import Proxy

    made = Proxy(tmp_path, server.home)
    yield made
    made.close()


@pytest.fixture
def far_database(proxy: Proxy, database: str, server: PostgresServer) -> str:
    """Its address over a line that can be cut."""
    return database.replace(f"host={server.home}", proxy.address)


@pytest.fixture
def far(far_database: str) -> Iterator[ccgbo.Study]:
    """A study over a line that can be cut."""
    with ccgbo.Study(far_database, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=1) as study:
        yield study
