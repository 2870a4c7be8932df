"""The command line: ``ccgbo --help``.

app.py        the group, errors on one line, exit codes, shell completion
studies.py    init, show, list, export, import, requeue, delete
loop.py       ask, tell, run, demo
table.py      rows of a table in plain text
"""

from ccgbo.cli.app import main

__all__ = ["main"]
