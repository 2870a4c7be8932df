"""The PostgreSQL store does what every store must do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ccgbo.storage import Store, open_store

from .conformance import StoreConformance

pytestmark = pytest.mark.heavy


class TestPostgres(StoreConformance):
    @pytest.fixture
    def open(self, database: str) -> Iterator[Callable[[], Store]]:
        with ExitStack() as stack:

            def open() -> Store:
                store = open_store(database, create=True)
                stack.callback(store.close)
                return store

            yield open
