"""A peer in an environment of its own, asked and told over a pipe: one line of JSON each way (see served.py)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ccgbo.bench.peers import environments, served
from ccgbo.bench.peers.unit_cube import UnitCube
from ccgbo.errors import CcgboError
from ccgbo.space import Space

QUIET = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


class PeerError(CcgboError, RuntimeError):
    """A peer failed in its own process; the message has its traceback."""


class RemoteSearch(UnitCube):
    """A searcher whose every call is answered by another process.

    ``cpu_seconds`` is what that process has used so far, which this one's clock does not see.
    """

    def __init__(self, space: Space, seed: int, *, peer: str, python: str | Path | None = None) -> None:
        super().__init__(space)
        self.cpu_seconds = 0.0
        self._peer = peer
        # -P: the folder of served.py has modules that are named like libraries
        command = [str(python or environments.interpreter(peer)), "-P", str(Path(served.__file__).resolve())]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **QUIET}
        )
        weakref.finalize(self, _close, self._process)
        self._call({"make": peer, "d": space.d, "seed": seed})

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        super().tell(point, value)
        self._call({"tell": [float(u) for u in self.U[-1]], "y": float(value)})

    def ask(self) -> dict[str, Any]:
        return self.space.decode(np.array(self._call({"ask": 1})["x"]))

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        line = ""
        if stdin is not None and stdout is not None:
            try:
                stdin.write(json.dumps(message) + "\n")
                stdin.flush()
                line = next((each for each in stdout if each.startswith("@@")), "")
            except BrokenPipeError:
                pass  # it has died; said below
        if not line:
            raise PeerError(f"the peer {self._peer} ended, with code {self._process.wait()}.")
        answer: dict[str, Any] = json.loads(line[2:])
        if "error" in answer:
            raise PeerError(f"the peer {self._peer} failed:\n{answer['error']}")
        self.cpu_seconds += float(answer["cpu"])
        return answer


def _close(process: subprocess.Popen[str]) -> None:
    """End the other process: it stops when its input is closed."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # it was gone already
                stream.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def short_run(peer: str, *, python: str | Path | None = None) -> tuple[float, float]:
    """The regret that ten suggestions reach on a bowl in two dimensions, and CPU milliseconds of one."""
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    searcher = RemoteSearch(space, 0, peer=peer, python=python)

    def regret(point: Mapping[str, Any]) -> float:
        return float((point["a"] - 0.3) ** 2 + (point["b"] - 0.62) ** 2)

    for u in np.random.default_rng(0).random((5, 2)):
        given = space.decode(u)
        searcher.tell(given, -regret(given))
    before, best = searcher.cpu_seconds, np.inf
    for _ in range(10):
        point = searcher.ask()
        searcher.tell(point, -regret(point))
        best = min(best, regret(point))
    return float(best), 1e3 * (searcher.cpu_seconds - before) / 10
