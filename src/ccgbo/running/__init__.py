"""Running an objective: one loop for an optimizer in memory and a study in a file.

loop.py        take a trial, hand it to an executor, tell what came back
sources.py     where trials come from
limits.py      when to stop although trials are left, Ctrl-C included
progress.py    one live line, or plain lines
"""

from ccgbo.running.loop import INTERRUPTED, Callback, OnError, Reported, run
from ccgbo.running.sources import MemorySource, Source, Tally

__all__ = ["INTERRUPTED", "Callback", "MemorySource", "OnError", "Reported", "Source", "Tally", "run"]
