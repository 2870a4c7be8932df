"""What the tests of several guests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def quiet_optuna() -> Iterator[None]:
    """Optuna logs errors only."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)
