"""The versions that a result depends on: ``python -m ccgbo.versions`` prints them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "ccgbo",
    "numpy",
    "scipy",
    "scikit-learn",
    "optuna",
    "torch",
    "gpytorch",
    "botorch",
    "ax-platform",
    "ray",
    "dask",
    "bayesian-optimization",
    "skfolio",
    "Box2D",
    "gymnasium",
    "mujoco",
    "cmaes",
)


def versions() -> dict[str, str]:
    """Python and every installed package of ``PACKAGES``."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    print("  ".join(f"{name} {number}" for name, number in versions().items()))
