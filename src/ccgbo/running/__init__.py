"""Running an objective: one loop for an optimizer in memory and a study in a file.

loop.py        take a trial, hand it to an executor, tell what came back
evaluation.py  one evaluation, where the executor runs it: a value or a failure, as data
pools.py       this thread, threads, pools of processes and how they are rebuilt
sources.py     where trials come from
limits.py      when to stop although trials are left, Ctrl-C included
progress.py    one live line, a bar in a notebook, or plain lines
display.py     what each of these says
"""

from ccgbo.running.evaluation import CannotEvaluate, Reported
from ccgbo.running.limits import CtrlC, seconds
from ccgbo.running.loop import BY_HAND, GO_ON, INTERRUPTED, Callback, OnError, run
from ccgbo.running.sources import MAX_ATTEMPTS, MemorySource, Source, Tally

__all__ = [
    "BY_HAND",
    "GO_ON",
    "INTERRUPTED",
    "MAX_ATTEMPTS",
    "Callback",
    "CannotEvaluate",
    "CtrlC",
    "MemorySource",
    "OnError",
    "Reported",
    "Source",
    "Tally",
    "run",
    "seconds",
]
