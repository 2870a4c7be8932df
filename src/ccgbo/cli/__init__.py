"""The command line: ``ccgbo --help``.

app.py        the group, errors on one line, exit codes, shell completion
studies.py    init, list, export, import, release, delete
show.py       show
loop.py       ask, run, demo
trials.py     tell, amend, drop, restore, abandon, annotate, enqueue, log
change.py     another space, other metrics
metrics.py    metrics as arguments, and how they are shown
command.py    a program as an objective
groups.py     programs with all their descendants, ended together
values.py     numbers and times as arguments
table.py      rows of a table in plain text
"""

from ccgbo.cli.app import main

__all__ = ["main"]
