"""Every method by name: those of the paper (baselines), settings of the default (variants), other libraries (peers)."""

from __future__ import annotations

from typing import Any

from ccgbo.bench import baselines
from ccgbo.bench.baselines import Method
from ccgbo.bench.peers import PEERS, Peer
from ccgbo.bench.variants import VARIANTS
from ccgbo.errors import SettingError

METHODS = (*baselines.METHODS, *VARIANTS, *PEERS)


def get_method(name: str, **options: Any) -> Method:
    """The method of that name; only those of the paper have options."""
    if name in baselines.METHODS:
        return baselines.get_method(name, **options)
    if name not in METHODS:
        raise SettingError(f"method must be one of {list(METHODS)}, got {name!r}.")
    if options:
        raise SettingError(f"the method {name!r} has no option {next(iter(options))!r}.")
    return PEERS[name] if name in PEERS else VARIANTS[name]()


def require(method: object) -> None:
    """MissingExtraError if the library behind a method is not installed."""
    peer = getattr(method, "peer", method)
    if isinstance(peer, Peer):
        peer.load()


__all__ = ["METHODS", "Method", "get_method", "require"]
