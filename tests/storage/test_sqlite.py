"""The SQLite store does what every store must do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ccgbo.storage import Store, open_store

from .conformance import StoreConformance


class TestSQLite(StoreConformance):
    @pytest.fixture
    def open(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: open_store(tmp_path / "s.db", create=True)


def test_sqlite_is_spoken_only_in_the_storage() -> None:
    import ccgbo

    root = Path(ccgbo.__file__).parent
    speakers = {p.relative_to(root).parts[0] for p in root.rglob("*.py") if "sqlite3" in p.read_text(encoding="utf-8")}
    assert speakers == {"storage"}
