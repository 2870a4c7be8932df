"""Environments of the peers whose libraries do not go together with ours: one folder each, made by one command.

    ccgbo bench peers setup hebo        makes it, with the exact versions that were tried; about 1 GB, minutes
    ccgbo bench peers                   which there are
    ccgbo bench peers try hebo          ten evaluations of a small problem

They are in ``$CCGBO_PEERS``, ``~/.cache/ccgbo/peers`` if that is not set. The lines were tried with Python 3.11.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ccgbo.errors import MissingExtraError, SettingError

Lines = tuple[tuple[str, ...], ...]  # arguments of pip, in this order

_TORCH = "torch==2.13.0"
_OLD_NUMPY = ("numpy==1.24.4", "scipy==1.11.4")  # what HEBO and pymoo 0.6.0 know
ENVIRONMENTS: dict[str, Lines] = {
    "vizier": (
        (
            "install", "google-vizier[jax]==0.1.24", "jax==0.4.34", "jaxlib==0.4.34", "flax==0.10.0", "optax==0.2.3",
            "chex==0.1.87", "scipy<1.15", "jaxtyping==0.2.34",
        ),
        ("uninstall", "-y", "tfp-nightly"),  # wants another JAX
        ("install", "--no-deps", "tensorflow-probability==0.25.0"),
    ),
    "hebo": (
        ("install", _TORCH, "numpy<1.25"),
        (
            "install", *_OLD_NUMPY, "pandas==2.0.3", "scikit-learn==1.3.2", "gpytorch==1.13", "linear-operator==0.5.3",
            "catboost==1.2.5", "disjoint-set", _TORCH,
        ),
        ("install", "paramz>=0.9.6", "GPy==1.13.2", *_OLD_NUMPY),
        ("install", "pymoo==0.6.0", "numpy==1.24.4"),
        ("install", "--no-deps", "HEBO==0.3.6"),
    ),
    "smac": (("install", "smac==2.4.1"),),
    "saasbo": (
        ("install", _TORCH, "botorch==0.18.1"),
        ("install", _TORCH, "jax<0.10", "jaxlib<0.10", "numpyro"),
    ),
    "cmaes": (("install", "cmaes"),),  # also in ccgbo[peers]: a cheap one to try the pipe with
}  # fmt: skip


class MissingEnvironmentError(MissingExtraError):
    """A peer's own environment has not been made."""

    def __init__(self, peer: str) -> None:
        ImportError.__init__(self, f"the peer {peer} needs an environment of its own: ccgbo bench peers setup {peer}")
        self.extra = peer


def folder() -> Path:
    """Where the environments are."""
    return Path(os.environ.get("CCGBO_PEERS") or "~/.cache/ccgbo/peers").expanduser()


def _python(name: str) -> Path:
    inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return folder().joinpath(name, *inside)


def is_there(name: str) -> bool:
    return _python(name).is_file() and (folder() / name / "ready").is_file()


def interpreter(name: str) -> Path:
    """The Python of a peer's environment."""
    if not is_there(name):
        raise MissingEnvironmentError(name)
    return _python(name)


def set_up(name: str, report: Callable[[str], None] = lambda _: None) -> Path:
    """Make a peer's environment anew, line by line; a line that fails stops it."""
    if name not in ENVIRONMENTS:
        raise SettingError(f"peer must be one of {list(ENVIRONMENTS)}, got {name!r}.")
    place = folder() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    report(f"python -m venv {place}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    for line in ENVIRONMENTS[name]:
        report(f"pip {' '.join(line)}")
        pip = [str(_python(name)), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, *line], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SettingError(f"pip {' '.join(line)} failed:\n{done.stderr[-2000:]}")
    (place / "ready").touch()
    return place
