"""One public face, and a light one."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import ccgbo

HEAVY = ("torch", "matplotlib", "pandas", "scipy.stats", "optuna", "sklearn", "ray", "ax", "plotly", "click")


def isort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as ruff sorts."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name


def modules_after(code: str) -> set[str]:
    code = f"import sys; {code}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_all_is_sorted_and_complete() -> None:
    assert ccgbo.__all__ == sorted(set(ccgbo.__all__), key=isort_key)
    public = {
        name
        for name, thing in vars(ccgbo).items()
        if not name.startswith("_")
        and not isinstance(thing, ModuleType)
        and getattr(thing, "__module__", "ccgbo").split(".")[0] == "ccgbo"
    }
    assert public | {"__version__"} == set(ccgbo.__all__)


def test_public_names_are_documented() -> None:
    for name in ccgbo.__all__:
        thing = getattr(ccgbo, name)
        assert name in ("PRESETS", "__version__") or thing.__doc__, name


def test_dir_shows_the_public_names_and_no_internal_module() -> None:
    assert dir(ccgbo) == sorted([*ccgbo.__all__, "integrations", "viz"])


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ccgbo' has no attribute 'optimise'"):
        _ = ccgbo.optimise
    with pytest.raises(AttributeError, match=r"module 'ccgbo\.integrations' has no attribute 'nevergrad'"):
        _ = ccgbo.integrations.nevergrad


def test_import_loads_nothing_heavy() -> None:
    loaded = modules_after("import ccgbo")
    assert not loaded & {*HEAVY, "ccgbo.viz", "ccgbo.integrations"}


def test_viz_and_integrations_work_after_the_import_and_load_nothing_heavy() -> None:
    loaded = modules_after("import ccgbo; ccgbo.viz.plot_progress; ccgbo.integrations")
    assert {"ccgbo.viz", "ccgbo.integrations"} <= loaded
    assert not loaded & set(HEAVY)


def test_an_integration_is_loaded_when_it_is_asked_for() -> None:
    loaded = modules_after("import ccgbo; ccgbo.integrations.sklearn")
    assert "sklearn" in loaded and "torch" not in loaded
