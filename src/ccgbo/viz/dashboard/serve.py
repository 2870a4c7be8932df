"""The process behind ``ccgbo dashboard``."""

from __future__ import annotations

import html
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ccgbo.errors import MissingExtraError, SettingError, StorageError
from ccgbo.storage import Place, list_studies

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp


def serve(
    path: Place,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,  # 0 takes any free one
    token: bool = True,  # every request must carry one; False is for a loopback address only
    say: Callable[[str], None] = print,
) -> None:
    """Serve the dashboard of a file or a database until interrupted. Says its address first, with the token in it."""
    try:
        import uvicorn  # noqa: F401

        from ccgbo.viz.dashboard.app import create_app
        from ccgbo.viz.dashboard.guard import is_loopback
    except ImportError:
        raise MissingExtraError("ccgbo dashboard", "dashboard") from None
    local = is_loopback(host)
    if not (token or local):
        raise SettingError(f"token must be True where others can connect: host is {host!r}.")
    list_studies(path)  # a wrong file is an error now, not in the page
    listener = listen(host, port)
    port = listener.getsockname()[1]
    word = secrets.token_urlsafe(24) if token else None
    place = path.resolve() if isinstance(path, Path) else path
    app = create_app(place, secret=secrets.token_urlsafe(24), port=port, token=word, local=local)
    say(address(host, port, word))
    with listener:
        server(app).run(sockets=[listener])


def server(app: ASGIApp) -> uvicorn.Server:
    """An HTTP server with limits; without a log of requests, whose first address has the token in it."""
    import uvicorn

    from ccgbo.viz.dashboard.limits import BACKLOG, LimitedProtocol, quieten

    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        backlog=BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    quieten()
    return uvicorn.Server(config)


def address(host: str, port: int, token: str | None) -> str:
    """The address to open."""
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


@contextmanager
def doorway(address: str) -> Iterator[Path]:
    """A page that only this user can read and that leads to the address.

    A browser is started with what it shall open among its arguments, which every user of the machine can read.
    """
    with TemporaryDirectory(prefix="ccgbo-", ignore_cleanup_errors=True) as folder:
        door = Path(folder) / "dashboard.html"
        there = html.escape(address)
        door.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={there}"><a href="{there}">To the dashboard</a>',
            encoding="utf-8",
        )
        yield door


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; the port is free or an error."""
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
