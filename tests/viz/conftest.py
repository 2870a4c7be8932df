"""Small real runs for the pictures, and a real server."""

from __future__ import annotations

import http.client
import json
import math
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import pytest

matplotlib.use("Agg")

from ccgbo import Float, Int, Optimizer
from ccgbo.study import Study

if TYPE_CHECKING:
    from .browser import Browser

MIXED = {
    "rate": Float(1e-5, 1.0, log=True),
    "layers": Int(1, 8),
    "kind": ["relu", "tanh", "gelu"],
    "dropout": Float(0.0, 0.6),
}


def score(params: Any) -> float:
    """Best at rate 10^-2.5, three layers, relu."""
    hill = math.exp(-(((math.log10(params["rate"]) + 2.5) / 0.8) ** 2))
    return hill - 0.03 * abs(params["layers"] - 3) + 0.1 * (params["kind"] == "relu") - (params["dropout"] - 0.2) ** 2


def run(opt: Any, n: int) -> Any:
    """n trials, the sixth of which fails."""
    for i in range(n):
        trial = opt.ask()
        if i == 5:
            opt.tell(trial, failed=True, error="it exploded")
        else:
            opt.tell(trial, score(trial.params))
    return opt


@pytest.fixture(scope="session")
def finished() -> Optimizer:
    """A run of 30 trials on a mixed space; not to be asked or told."""
    opt: Optimizer = run(Optimizer(MIXED, seed=0), 30)
    return opt


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def _study_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("template") / "tune.db"
    with Study(path, MIXED, name="net", seed=0) as study:
        run(study, 13)
        study.ask()
    return path


@pytest.fixture
def study_path(_study_template: Path, tmp_path: Path) -> Path:
    """A file with the study ``net`` of 14 trials, one of them pending."""
    return Path(shutil.copy(_study_template, tmp_path / "tune.db"))


class Client:
    """Requests to a server, with every header under control."""

    def __init__(self, port: int, secret: str = "", token: str | None = None) -> None:
        self.port, self.secret, self.token = port, secret, token
        self.bearer = {} if token is None else {"Authorization": f"Bearer {token}"}

    @property
    def address(self) -> str:
        """What `ccgbo dashboard` would print."""
        return f"http://127.0.0.1:{self.port}/" + ("" if self.token is None else f"?token={self.token}")

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers, text. Header names are given with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, sent, self.bearer | given)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        status, _, text = self.request("GET", path, **headers)
        return status, json.loads(text)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """As the page itself does it."""
        own = {"Origin": f"http://127.0.0.1:{self.port}", "X_Page_Secret": self.secret}
        status, _, text = self.request("POST", path, body, **own)
        return status, json.loads(text)


@contextmanager
def serving(path: Path, *, token: str | None = "the-token", local: bool = True) -> Iterator[Client]:
    """The dashboard of a file behind a real server."""
    from ccgbo.viz.dashboard.app import create_app
    from ccgbo.viz.dashboard.serve import listen, server

    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    running = server(create_app(path, secret="page-secret", port=port, token=token, local=local))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        wait_for(lambda: running.started)
        yield Client(port, "page-secret", token)
    finally:
        running.should_exit = True
        thread.join(20)
        listener.close()


@pytest.fixture
def dashboard(study_path: Path) -> Iterator[Client]:
    with serving(study_path) as client:
        yield client


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from .browser import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def shown(page: Browser, study_path: Path) -> Iterator[tuple[Browser, Path]]:
    """The dashboard of a study in the browser; at the end the console must have had nothing to complain about."""
    with serving(study_path) as client:
        page.resize(1400)
        page.complaints()
        page.open(client.address)
        page.says("#live", "live")
        page.says(".tiles", "12")
        try:
            yield page, study_path
            assert page.complaints() == []
        finally:
            page.open("about:blank")


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first true answer; fails when there is none in time."""
    until = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > until:
            pytest.fail(f"waited {seconds} s in vain")
        time.sleep(0.05)
