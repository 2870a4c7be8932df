"""Those who work on a study file at the same time, each a process that opens the file itself.

    notebook    holds a Study, opens it a second time, lists the studies, runs `maximize(study=)` beside it
    run         Study.run with threads or a process pool
    terminal    `ccgbo ask`, `tell`, `show`, one process per command
    dashboard   `ccgbo dashboard`, and a page that polls, asks and tells over HTTP
    import      `ccgbo import` of new points and of pending trials, `export`
    report      `ccgbo report`, `list`

Each writes down what it was given and what it told, on disk, after the call returned, and what it saw when it looked.
"""

from __future__ import annotations

import csv
import http.client
import io
import json
import multiprocessing as mp
import os
import random
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import ccgbo
from ccgbo.cli import main as ccgbo_command

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
SETTINGS: dict[str, Any] = {"seed": 0, "n_initial": 4096}  # the design alone: it is the file that is tried here
WORK, REST, CLOSE = "w", "r", "c"


class Log:
    """Lines of JSON; a line that counts is on disk when the call returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, what: str, **fields: Any) -> None:
        line = json.dumps({"what": what, "t": time.monotonic()} | fields) + "\n"
        os.write(self._file, line.encode())
        if what in ("gave", "told"):
            os.fsync(self._file)


class Actor:
    """One of them: a place in the round, a log, orders from the driver, and values that nobody else tells."""

    def __init__(self, folder: Path, role: str, orders: int, seed: int) -> None:
        self.file, self.folder, self.role = folder / "study.db", folder, role
        self.log = Log(folder / f"{role}.log")
        self.errors = folder / f"{role}.err"
        self.random = random.Random(seed)
        self._orders, self._order = orders, WORK
        # shared, so that the workers of a process pool do not tell the same value twice
        self._count = mp.get_context("fork").Value("i", 100_000 * (1 + "ab".index(role)))
        self._seen: set[float] = set()

    def order(self) -> str:
        """What the driver wants now; no word from it any more means to close."""
        while select.select([self._orders], [], [], 0)[0]:
            self._order = os.read(self._orders, 1).decode() or CLOSE
            if self._order == CLOSE:
                break
        return self._order

    def value(self) -> float:
        with self._count.get_lock():
            self._count.value += 1
            return float(self._count.value)

    def gave(self, trial_id: int | None, params: Any = None) -> None:
        self.log.write("gave", id=trial_id, params=params)

    def told(self, trial_id: int | None, value: float) -> None:
        self.log.write("told", id=trial_id, value=value)

    def looked(self, began: float, values: Iterable[float | None]) -> None:
        new = {v for v in values if v is not None} - self._seen
        self._seen |= new
        self.log.write("looked", began=began, saw=sorted(new))

    def look(self, study: ccgbo.Study) -> None:
        began = time.monotonic()
        self.looked(began, [trial.value for trial in study.trials])

    def work(self, *steps: Callable[[], None], look: Callable[[], None]) -> None:
        """Steps by chance until the order to close; at rest only looks."""
        self.log.write("open")
        while (order := self.order()) != CLOSE:
            if order == WORK:
                self.random.choice(steps)()
            else:
                self.log.write("resting")
            look()
            self.log.write("step")
            time.sleep(self.random.uniform(0.0, 0.02))

    def command(self, *words: str) -> str:
        """What ``ccgbo WORDS`` prints. Forked, since everything is loaded; the process is its own all the same."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(write, 1)
            os.close(read)
            _as_a_command(words)
        os.close(write)
        with open(read, encoding="utf-8") as out:
            text = out.read()
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise RuntimeError(f"`ccgbo {' '.join(words)}` ended with {os.waitstatus_to_exitcode(status)}")
        return text


def _as_a_command(words: Iterable[str]) -> None:
    """Be ``ccgbo WORDS`` from here on."""
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    code = 1
    try:
        ccgbo_command(list(words))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


# -- the actors


def notebook(me: Actor) -> None:
    study = ccgbo.Study(me.file, heartbeat=5.0)
    second: list[ccgbo.Study] = []

    def ask_and_tell(handle: ccgbo.Study = study) -> None:
        trial = handle.ask()
        me.gave(trial.id, dict(trial.params))
        value = me.value()
        handle.tell(trial, value)
        me.told(trial.id, value)

    def list_studies() -> None:
        ccgbo.list_studies(me.file)

    def open_again_and_close() -> None:
        with ccgbo.Study(me.file) as other:
            me.look(other)

    def keep_a_second_one() -> None:  # the cell that makes the study is run again
        second[:] = [ccgbo.Study(me.file)]
        ask_and_tell(second[0])

    def run_beside_it() -> None:
        def once(_: Any, trial: ccgbo.Trial) -> bool:
            me.told(trial.id, float(trial.value or 0.0))
            return True

        ccgbo.maximize(_evaluate, SPACE, 10**6, study=me.file, progress=False, callback=once, **SETTINGS)

    _evaluating_for(me)
    steps = (ask_and_tell, ask_and_tell, list_studies, open_again_and_close, keep_a_second_one, run_beside_it)
    me.work(*steps, look=lambda: me.look(study))
    for handle in (*second, study):
        handle.close()


def run(me: Actor) -> None:
    _evaluating_for(me)
    with ccgbo.Study(me.file, heartbeat=5.0) as study:

        def after_each(_: Any, trial: ccgbo.Trial) -> bool:
            me.told(trial.id, float(trial.value or 0.0))
            me.look(study)
            me.log.write("step")
            while (order := me.order()) == REST:
                me.log.write("resting")
                me.look(study)
                time.sleep(0.02)
            return order == CLOSE

        me.log.write("open")
        if me.random.random() < 0.5:
            study.run(_evaluate, 10**6, n_workers=2, progress=False, callback=after_each)
            return
        with ProcessPoolExecutor(2, mp_context=mp.get_context("fork")) as pool:
            study.run(_evaluate, 10**6, executor=pool, progress=False, callback=after_each)


def terminal(me: Actor) -> None:
    def ask_and_tell() -> None:
        trial = json.loads(me.command("ask", str(me.file), "--json"))
        me.gave(trial["id"], trial["params"])
        value = me.value()
        me.command("tell", str(me.file), str(trial["id"]), str(value))
        me.told(trial["id"], value)

    def show() -> None:
        began = time.monotonic()
        shown = json.loads(me.command("show", str(me.file), "--json", "--no-model"))
        me.looked(began, [trial["value"] for trial in shown["trials"]])

    show()
    me.work(ask_and_tell, look=show)


def import_(me: Actor) -> None:
    table = me.folder / f"{me.role}.csv"

    def tell_a_table() -> None:
        values = [me.value(), me.value()]
        rows = [f"{me.random.random()},{me.random.random()},{value}" for value in values]
        table.write_text("\n".join(["x,y,value", *rows]) + "\n", encoding="utf-8")
        me.command("import", str(me.file), str(table))
        for value in values:
            me.told(None, value)

    def fill_in_a_pending_trial() -> None:
        trial = json.loads(me.command("ask", str(me.file), "--json"))
        me.gave(trial["id"], trial["params"])
        value = me.value()
        table.write_text(f"id,value\n{trial['id']},{value}\n", encoding="utf-8")
        me.command("import", str(me.file), str(table))
        me.told(trial["id"], value)

    def export() -> None:
        began = time.monotonic()
        rows = csv.DictReader(io.StringIO(me.command("export", str(me.file), "-")))
        me.looked(began, [float(row["value"]) for row in rows if row["value"]])

    export()
    me.work(tell_a_table, fill_in_a_pending_trial, look=export)


def report(me: Actor) -> None:
    page = me.folder / f"{me.role}.html"

    def write() -> None:
        began = time.monotonic()
        me.command("report", str(me.file), "-o", str(page))
        data = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
        assert data is not None
        me.looked(began, json.loads(data[1])["study"]["trials"]["value"])

    def list_() -> None:
        me.command("list", str(me.file))

    write()
    me.work(list_, look=write)


def dashboard(me: Actor) -> None:
    """The page; the server beside it is started by :func:`serve` and may be killed under it."""
    try:
        page = Page(me.folder / f"{me.role}.address")
    except OSError:
        me.log.write("server gone")
        return

    def ask_and_tell() -> None:
        trial = page.post("/api/ask", {"study": "default"})["trials"][0]
        me.gave(trial)
        value = me.value()
        page.post("/api/tell", {"study": "default", "trial": trial, "value": value})
        me.told(trial, value)

    def look() -> None:
        began = time.monotonic()
        page.get("/api/pulse?study=default")
        page.get("/api/studies")
        me.looked(began, page.get("/api/study?study=default")["trials"]["value"])

    try:
        look()
        me.work(ask_and_tell, look=look)
    except OSError:  # the driver knows whether it was killed
        me.log.write("server gone")


def serve(me: Actor) -> None:
    """Be ``ccgbo dashboard``."""
    address = os.open(me.folder / f"{me.role}.address", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(address, 1)
    _as_a_command(["dashboard", str(me.file), "--port", "0"])


class Page:
    """What the dashboard's page does, without the browser."""

    def __init__(self, printed: Path, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not (found := re.search(r"http://\S+", printed.read_text() if printed.exists() else "")):
            if time.monotonic() > until:
                raise ConnectionError("the dashboard said no address")
            time.sleep(0.01)
        address = urlsplit(found[0])
        self._host = address.netloc
        token = parse_qs(address.query).get("token")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token[0]}"}
        secret = re.search(r'name="page-secret" content="([^"]*)"', self._request("GET", "/"))
        assert secret is not None
        self._own = {"Origin": f"http://{self._host}", "X-Page-Secret": secret[1]}

    def get(self, path: str) -> Any:
        return json.loads(self._request("GET", path))

    def post(self, path: str, body: Any) -> Any:
        return json.loads(self._request("POST", path, json.dumps(body), **self._own))

    def _request(self, method: str, path: str, body: str | None = None, **headers: str) -> str:
        connection = http.client.HTTPConnection(self._host, timeout=120)
        try:
            connection.request(method, path, body, self._headers | headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except http.client.HTTPException as error:
            raise ConnectionError("the server went away") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {text}")
        return text


# -- an objective that says what it evaluates, wherever it runs

_me: Actor | None = None


def _evaluating_for(actor: Actor) -> None:
    global _me
    _me = actor


def _evaluate(x: float, y: float) -> float:
    assert _me is not None
    _me.gave(None, {"x": x, "y": y})
    time.sleep(random.uniform(0.0, 0.02))
    return _me.value()


KINDS: dict[str, Callable[[Actor], None]] = {
    "notebook": notebook,
    "run": run,
    "terminal": terminal,
    "dashboard": dashboard,
    "import": import_,
    "report": report,
}


def start(play: Callable[[Actor], None], folder: Path, role: str, seed: int) -> tuple[int, int]:
    """A process of its own for an actor, in a group of its own; its id, and where its orders are written."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(read)
        return child, write
    code = 1
    try:
        os.setpgid(0, 0)
        os.close(write)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        errors = os.open(folder / f"{role}.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(errors, 2)
        sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
        random.seed(seed)
        play(Actor(folder, role, read, seed))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
