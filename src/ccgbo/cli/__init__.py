"""The command line: ``ccgbo --help``.

app.py        the group, errors on one line, exit codes, shell completion
studies.py    init, show, list, export, import, release, delete
loop.py       ask, tell, run, demo
command.py    a program as an objective
groups.py     programs with all their descendants, ended together
values.py     numbers and times as arguments
table.py      rows of a table in plain text
"""

from ccgbo.cli.app import main

__all__ = ["main"]
