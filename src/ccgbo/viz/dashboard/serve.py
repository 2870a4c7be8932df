"""The process behind ``ccgbo dashboard``."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from ccgbo.errors import MissingExtraError, SettingError, StorageError
from ccgbo.storage import list_studies


def serve(
    path: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,  # 0 takes any free one
    say: Callable[[str], None] = print,
) -> None:
    """Serve the dashboard of a study file until interrupted. Says its address first, with a token if it needs one."""
    try:
        import uvicorn

        from ccgbo.viz.dashboard.app import create_app
        from ccgbo.viz.dashboard.guard import is_loopback
    except ImportError:
        raise MissingExtraError("ccgbo dashboard", "dashboard") from None
    list_studies(path)  # a wrong file is an error now, not in the page
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    app = create_app(path.resolve(), secret=secrets.token_urlsafe(24), port=port, token=token)
    say(address(host, port, token))
    # no access log: the address of the first request has the token in it
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2
    )
    with listener:
        uvicorn.Server(config).run(sockets=[listener])


def address(host: str, port: int, token: str | None) -> str:
    """The address to open."""
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 65536:
        raise SettingError(f"port must be in [0, 65535], got {port!r}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(100)  # the address is about to be said: whoever is quick must wait, not be refused
    except OSError as error:
        listener.close()
        raise StorageError(f"cannot listen on {host}:{port}: {error.strerror or error}.") from None
    return listener
