"""Every pair of those who use a study file, at the same time, killed at random moments: is anything lost?

    python tools/soak.py --rounds 300 --seed 0

A round is two actors (soak_actors.py) on one new file, in one order of opening and closing, each closed or killed with
SIGKILL. 288 rounds are all of them; the first 21 of any seed have every pair once. Afterwards a fresh process reads the
file (soak_checks.py): every value whose tell returned is there, no trial was given to two, the file is sound, every
reader saw every value within a second, and nobody said a word of an error. Exit status 1 if anything did not hold.

Needs Linux and the extra [dashboard].
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: no threads in what is forked

import argparse
import contextlib
import ctypes
import importlib
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import soak_actors as actors
import soak_checks as checks

import ccgbo
from ccgbo.versions import versions

LOADED_ONCE = (
    "uvicorn.protocols.http.auto",
    "ccgbo.cli.loop",
    "ccgbo.cli.studies",
    "ccgbo.study.transfer",
    "ccgbo.viz.cli",
    "ccgbo.viz.dashboard.app",
)
PATIENCE = 60.0  # seconds for a step of an actor; a busy machine is no defect
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: orphans become our children, so that we know when all have ended


@dataclass(frozen=True, slots=True)
class Plan:
    """One round: who opens first and second, who ends first, and how each ends."""

    first: str
    second: str
    leaves: str  # "a" or "b", the one that ends while the other goes on
    leave: str  # "close" or "kill"
    end: str  # the same for the one that stays

    def __str__(self) -> str:
        stays = "b" if self.leaves == "a" else "a"
        return f"a={self.first} b={self.second}: {self.leave} {self.leaves}, then {self.end} {stays}"


def plans(rounds: int, seed: int) -> list[Plan]:
    """Every plan in a random order, those with a new pair first, again and again."""
    chance = random.Random(seed)
    every = [Plan(*p) for p in product(actors.KINDS, actors.KINDS, "ab", ("close", "kill"), ("close", "kill"))]
    out: list[Plan] = []
    while len(out) < rounds:
        chance.shuffle(every)
        pairs: dict[Any, Plan] = {}
        for plan in every:
            pairs.setdefault(frozenset((plan.first, plan.second)), plan)
        ahead = list(pairs.values())
        out += ahead + [plan for plan in every if plan not in ahead]
    assert len(pairs) == len(list(combinations_with_replacement(actors.KINDS, 2)))
    return out[:rounds]


class Player:
    """The driver's hold on one actor."""

    def __init__(self, kind: str, role: str, folder: Path, seed: int) -> None:
        self.kind, self.role, self.log = kind, role, folder / f"{role}.log"
        self.killed: float | None = None
        self.server: int | None = None
        if kind == "dashboard":
            self.server, unused = actors.start(actors.serve, folder, role, seed)
            os.close(unused)
        self.pid, self._orders = actors.start(actors.KINDS[kind], folder, role, seed)

    def notes(self) -> checks.Notes:
        return checks.Notes(self.role, self.kind, checks.read_log(self.log), self.killed)

    def count(self, what: str) -> int:
        return len(self.notes().of(what))

    def order(self, what: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, what.encode())

    def kill(self) -> None:
        """SIGKILL: to a command together with its shell, to a run without its workers, to a dashboard's server."""
        self.killed = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            if self.server is not None:
                os.kill(self.server, signal.SIGKILL)
            elif self.kind in ("notebook", "run"):
                os.kill(self.pid, signal.SIGKILL)
            else:
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """As its user would end it."""
        self.order(actors.CLOSE)
        wait_for(lambda: ended(self.pid), f"{self.kind} does not close")
        if self.server is not None:
            os.kill(self.server, signal.SIGTERM)

    def let_go(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._orders)

    def alive(self) -> bool:
        return not ended(self.pid) and (self.server is None or not ended(self.server))


class Stuck(Exception):
    """Something did not happen in time."""


def wait_for(condition: Callable[[], bool], complaint: str, seconds: float = PATIENCE) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Stuck(complaint)
        time.sleep(0.005)


_statuses: dict[int, int] = {}  # of the children that have ended


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            _statuses[pid] = status


def ended(pid: int) -> bool:
    reap()
    return pid in _statuses


def family() -> list[int]:
    """Every process below this one."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(entry.name)
            parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(pid)
    found, look = [], [os.getpid()]
    while look:
        children = parents.get(look.pop(), [])
        found += children
        look += children
    return found


def by_itself(job: Callable[..., None], *arguments: Any) -> None:
    """Run the job in a fresh process, to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            job(*arguments)
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        finally:
            sys.stderr.flush()
            os._exit(code)
    wait_for(lambda: ended(child), f"{job.__name__} does not end")
    if _statuses.pop(child) != 0:
        raise Stuck(f"{job.__name__} failed")


def create(folder: Path) -> None:
    with ccgbo.Study(folder / "study.db", actors.SPACE, **actors.SETTINGS) as study:
        for i in range(3):
            study.tell(study.ask(), float(i))


@dataclass(slots=True)
class Tally:
    """What all rounds come to."""

    rounds: Counter[tuple[str, str]] = field(default_factory=Counter)
    kills: int = 0
    told: int = 0
    given: int = 0
    looks: int = 0
    stale: int = 0
    at_once: int = 0
    worst: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def play(plan: Plan, number: int, seed: int, folder: Path, tally: Tally) -> list[str]:
    """One round; what did not hold in it."""
    chance = random.Random(f"{seed} {number}")
    players: dict[str, Player] = {}
    wrong: list[str] = []
    try:
        by_itself(create, folder)
        _act(plan, chance, folder, players, tally)
    except Stuck as stuck:
        wrong.append(str(stuck))
    finally:
        _clear(players)
    try:
        by_itself(checks.inspect, folder)
    except Stuck as stuck:
        return [*wrong, f"the file cannot be read: {stuck}"]
    notes = [player.notes() for player in players.values()]
    for note in notes:
        tally.told += len(note.of("told"))
        tally.given += len(note.of("gave"))
        tally.looks += len(note.of("looked"))
        tally.kills += note.killed is not None
        if note.of("server gone") and note.killed is None:
            wrong.append("the dashboard's server went away by itself")
    tally.stale += checks.stale_looks(notes)
    for seconds, kind in checks.latencies(notes):
        tally.worst[kind] = max(tally.worst.get(kind, 0.0), seconds)
    return wrong + checks.violations(folder, notes)


def _act(plan: Plan, chance: random.Random, folder: Path, players: dict[str, Player], tally: Tally) -> None:
    players["a"] = first = Player(plan.first, "a", folder, chance.randrange(10**9))
    wait_for(lambda: first.count("step") > 0 or not first.alive(), f"{plan.first} does not get to work")
    players["b"] = Player(plan.second, "b", folder, chance.randrange(10**9))
    leaves = players[plan.leaves]
    stays = players["b" if plan.leaves == "a" else "a"]
    _let_work(chance, leaves, stays, leaves_killed=plan.leave == "kill")
    tally.at_once = max(tally.at_once, len(family()))
    leaves.kill() if plan.leave == "kill" else leaves.close()
    before = stays.count("step")
    wait_for(lambda: stays.count("step") >= before + 2 or not stays.alive(), f"{stays.kind} does not work on")
    _settle(stays, leaves)
    time.sleep(chance.uniform(0.0, 0.2))
    stays.kill() if plan.end == "kill" else stays.close()


def _let_work(chance: random.Random, leaves: Player, stays: Player, *, leaves_killed: bool) -> None:
    """For some time; who is going to be killed may not even have opened the file by then."""
    time.sleep(chance.uniform(0.0, 0.4))
    for player in (stays,) if leaves_killed else (leaves, stays):
        wait_for(
            lambda player=player: player.count("step") > 1 or not player.alive(),  # type: ignore[misc]
            f"{player.kind} does not get to work",
        )


def _settle(reader: Player, other: Player) -> None:
    """All is told: the one that stays looks until it saw everything, or a look that began a second later did not."""
    reader.order(actors.REST)
    wait_for(lambda: reader.count("resting") > 0 or not reader.alive(), f"{reader.kind} does not rest")
    told = [line for player in (reader, other) for line in player.notes().of("told")]
    values, since = {line["value"] for line in told}, time.monotonic()

    def settled() -> bool:
        looks = reader.notes().of("looked")
        seen = {value for line in looks for value in line["saw"]}
        return values <= seen or looks[-1]["began"] >= since + checks.SECONDS or not reader.alive()

    wait_for(settled, f"{reader.kind} does not look")
    reader.order(actors.WORK)


def _clear(players: dict[str, Player]) -> None:
    """End everybody that is left, also the orphans, and wait for it."""
    for player in players.values():
        player.let_go()
    until = time.monotonic() + 5.0
    while family():
        reap()
        if time.monotonic() > until or all(player.killed for player in players.values()):
            for pid in family():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    reap()
    _statuses.clear()


def warm_up() -> None:
    """Load here what every actor needs, so that a fork is ready at once. No study file is opened here, ever."""
    for module in LOADED_ONCE:
        importlib.import_module(module)
    from ccgbo.viz.report import report_html

    optimizer = ccgbo.Optimizer(actors.SPACE, seed=0, n_initial=3)
    for i in range(5):
        optimizer.tell(optimizer.ask(), float(i))
    report_html(optimizer)


@contextlib.contextmanager
def place(given: Path | None) -> Iterator[Path]:
    """The folder for the rounds; one that was given is kept."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        yield Path(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the rounds take place; those that went wrong stay there")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and nobody stays behind
    warm_up()
    tally, began = Tally(), time.monotonic()
    with place(options.folder) as folder:
        for number, plan in enumerate(plans(options.rounds, options.seed)):
            here = folder / f"round-{number}"
            here.mkdir()
            wrong = play(plan, number, options.seed, here, tally)
            tally.rounds[plan.first, plan.second] += 1
            tally.wrong += [f"round {number}, {plan}: {words}" for words in wrong]
            for words in wrong:
                print(f"round {number}, {plan}: {words}", flush=True)
            if not wrong:
                shutil.rmtree(here)
    summarise(tally, options, time.monotonic() - began)
    return 1 if tally.wrong else 0


def summarise(tally: Tally, options: argparse.Namespace, seconds: float) -> None:
    known = versions()
    print(f"ccgbo {known['ccgbo']}, Python {known['python']}, SQLite {sqlite3.sqlite_version}, seed {options.seed}")
    print(
        f"{sum(tally.rounds.values())} rounds in {seconds:.0f} s, {tally.kills} killed with SIGKILL, "
        f"up to {tally.at_once} processes at once"
    )
    print(
        f"{tally.told} values told, {tally.given} trials given out, {tally.looks} looks at the file, {tally.stale} of "
        "them without a value that had been told before they began"
    )
    worst = ", ".join(f"{kind} {1e3 * tally.worst[kind]:.0f} ms" for kind in actors.KINDS if kind in tally.worst)
    print(f"longest from a tell's return to a look that shows it: {worst}")
    print("rounds by who opened first (row) and second (column):")
    print(" " * 10 + "".join(f"{kind:>10}" for kind in actors.KINDS))
    for first in actors.KINDS:
        print(f"{first:>10}" + "".join(f"{tally.rounds[first, second]:>10}" for second in actors.KINDS))
    print(f"{len(tally.wrong)} violations" if tally.wrong else "nothing lost, nothing given twice, nothing unseen")


if __name__ == "__main__":
    sys.exit(main())
