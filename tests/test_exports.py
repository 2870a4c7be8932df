"""One public face, and a light one."""

from __future__ import annotations

import subprocess
import sys

import ccgbo


def test_all_is_sorted_and_every_name_is_there() -> None:
    assert len(set(ccgbo.__all__)) == len(ccgbo.__all__)
    for name in ccgbo.__all__:
        assert hasattr(ccgbo, name), name


def test_public_names_are_documented() -> None:
    for name in ccgbo.__all__:
        thing = getattr(ccgbo, name)
        assert name == "__version__" or thing.__doc__, name


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, ccgbo; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for heavy in ("torch", "matplotlib", "pandas", "scipy.stats", "optuna", "sklearn", "ray", "ax", "plotly", "click"):
        assert heavy not in loaded, heavy
