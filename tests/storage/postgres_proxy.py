"""What stands between a client and its server, and cuts the line at a chosen moment."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

PORT = 6000


class Line:
    """A client's connection and its other half to the server, with a message that is held up between them."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.held: bytes | None = None
        self.answered = threading.Event()

    def pass_on(self) -> None:
        """The message reaches the server, whose answer the client never gets."""
        assert self.held is not None
        self.server.sendall(self.held)

    def cut(self) -> None:
        """For the client; the server still has its half."""
        _end(self.client)

    def close(self) -> None:
        _end(self.client)
        _end(self.server)


class Proxy:
    """Passes everything on, on a Unix socket in ``folder``, until it is told to cut."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.address = f"host={folder}&port={PORT}"
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{PORT}"))
        self._listener.listen()
        self._word: bytes | None = None
        self._after = b""
        self._act: Callable[[Line], None] = Line.close
        self.cuts = 0
        self._lines: list[Line] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def at(self, word: bytes, act: Callable[[Line], None], *, after: bytes = b"") -> None:
        """Once a client sends ``word``, its message is held up, ``act`` is done, and then the line is closed.

        Messages up to the first that has ``after`` do not count.
        """
        self._act, self._after, self._word = act, after, word

    def cut_at(self, word: bytes, *, sent: bool, after: bytes = b"") -> None:
        """Once a client sends ``word``: before the server has it, or after the server has answered."""

        def after_the_answer(line: Line) -> None:
            line.pass_on()
            line.answered.wait()

        self.at(word, after_the_answer if sent else Line.close, after=after)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line = Line(self._listener.accept()[0], socket.socket(socket.AF_UNIX))
                self._lines.append(line)
                try:
                    line.server.connect(self._server)
                except OSError:  # it is down
                    line.close()
                    continue
                for way in (self._to_server, self._to_client):
                    threading.Thread(target=way, args=(line,), daemon=True).start()

    def _to_server(self, line: Line) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := line.client.recv(65536):
                    if self._after:
                        self._after = b"" if self._after in data else self._after
                    elif self._word is not None and self._word in data:
                        line.held, self._word = data, None
                        self.cuts += 1
                        self._act(line)
                        break
                    line.server.sendall(data)
        finally:
            line.close()

    def _to_client(self, line: Line) -> None:
        with contextlib.suppress(OSError):
            while data := line.server.recv(65536):
                if line.held is not None:
                    line.answered.set()
                else:
                    line.client.sendall(data)
        if line.held is None:
            line.close()

    def close(self) -> None:
        """Nobody is let through any more."""
        _end(self._listener)
        self._listener.close()
        for line in self._lines:
            line.close()
            line.client.close()
            line.server.close()


def _end(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
