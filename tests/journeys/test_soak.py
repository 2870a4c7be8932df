"""Nothing lost: every pair of those who use a study file, at the same time, killed at random moments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

SOAK = Path(__file__).parents[2] / "tools" / "soak.py"


def test_nothing_told_is_lost_whoever_else_uses_the_file_and_whoever_is_killed() -> None:
    """All 288 orders of opening, closing and killing: ``python tools/soak.py``; here every pair once."""
    done = subprocess.run([sys.executable, str(SOAK), "--rounds", "21", "--seed", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "21 rounds" in done.stdout
    assert "nothing lost" in done.stdout
