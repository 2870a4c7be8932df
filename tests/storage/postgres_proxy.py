"""What stands between a client and its server, and cuts the line at a chosen moment."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

PORT = 6000


class Proxy:
    """Passes everything on, on a Unix socket in ``folder``, until it is told to cut."""

    def __init__(self, folder: Path, server: Path) -> None:
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{PORT}"))
        self._listener.listen()
        self._word: bytes | None = None
        self._sent = False
        self.cuts = 0
        self._lines: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, word: bytes, *, sent: bool) -> None:
        """Once a client sends ``word``: before the server has it, or after the server has answered."""
        self._word, self._sent = word, sent

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._lines += [client, server]
                answered = threading.Event()
                for one, other, is_client in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass, args=(one, other, is_client, answered), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, is_client: bool, cutting: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if is_client and self._word is not None and self._word in data:
                    self._word = None
                    self.cuts += 1
                    cutting.set()
                    if not self._sent:
                        break
                elif not is_client and cutting.is_set():
                    break  # this is the answer, which the client never gets
                other.sendall(data)
        for line in (one, other):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Nobody is let through any more."""
        for line in (self._listener, *self._lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
