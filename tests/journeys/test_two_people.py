"""Two people on one study: two terminals that run it, one is killed, the other's connection is lost."""

from __future__ import annotations

import json
import os

import pytest
from viz.conftest import wait_for

from .desk import Desk, kill9

pytestmark = pytest.mark.heavy

N = 16


@pytest.fixture
def slow(lab: Desk) -> tuple[Desk, str, str]:
    """The desk, a word by which its programs are known, and the line that runs them: each waits for the file `go`."""
    lab.write(
        "slow.py",
        "import os, sys, time\n"
        "while not os.path.exists('go') and time.sleep(0.02) is None: pass\n"
        "print(float(sys.argv[2]))\n",
    )
    tag = f"program-of-{os.getpid()}-{lab.folder.name}"
    return lab, tag, f"ccgbo run lab.db -n {N} -j 2 --quiet -- python slow.py {tag} {{x}}"


def running(desk: Desk, tag: str) -> int:
    """Programs that run, without those that start them."""
    return sum(len(_arguments(pid)) == 4 for pid in desk.programs(tag))


def _arguments(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return file.read().split("\0")[:-1]
    except OSError:
        return []


def test_a_lost_connection_ends_the_programs_with_it(slow: tuple[Desk, str, str]) -> None:
    desk, tag, line = slow
    window = desk.window(line)
    wait_for(lambda: running(desk, tag) == 2, 90)
    window.hang_up()
    window.ends()
    wait_for(lambda: running(desk, tag) == 0)


def test_a_killed_run_leaves_no_programs_behind(slow: tuple[Desk, str, str]) -> None:
    desk, tag, line = slow
    window = desk.window(line)
    wait_for(lambda: running(desk, tag) == 2, 90)
    kill9(window)
    wait_for(lambda: running(desk, tag) == 0)


def test_one_is_killed_and_one_hangs_up_and_a_third_finishes_what_they_had(slow: tuple[Desk, str, str]) -> None:
    desk, tag, line = slow
    mine, yours = desk.window(line), desk.window(line)
    wait_for(lambda: running(desk, tag) == 4, 90)
    by_hand = json.loads(desk.does("ccgbo ask lab.db --json"))["id"]
    desk.does(f"ccgbo tell lab.db {by_hand} 0.25")
    kill9(mine)
    yours.hang_up()
    yours.ends()
    wait_for(lambda: running(desk, tag) == 0)
    desk.write("go", "")
    desk.does(line)
    values = desk.values("lab.db")
    assert sorted(values) == list(range(N))
    assert values[by_hand] == 0.25
    assert running(desk, tag) == 0


def test_two_runs_share_the_trials_and_evaluate_each_once(lab: Desk) -> None:
    lab.write("noted.py", "import sys\nprint(sys.argv[1], file=open('evaluated', 'a'))\nprint(sys.argv[1])\n")
    line = f"ccgbo run lab.db -n {N} -j 2 --quiet -- python noted.py {{x}}"
    windows = [lab.window(line), lab.window(line)]
    assert [window.ends() for window in windows] == [0, 0]
    evaluated = (lab.folder / "evaluated").read_text(encoding="utf-8").split()
    assert sorted(map(float, evaluated)) == sorted(lab.values("lab.db").values())
    assert len(evaluated) == N
