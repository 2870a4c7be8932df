"""Named optimisations that outlive the process.

study.py         opening, ask and run on a file
editor.py        amend, drop, restore, abandon, annotate, another space
telling.py       tell, enqueue
reader.py        what is known of it: trials, the best, credits, the log
steps.py         what each of them does in one transaction
copy.py          the study in memory
definition.py    what a study is, stored and opened again
opening.py       finding it in its file
source.py        its trials for a run, with a heartbeat
transfer.py      CSV, JSON, Parquet, DataFrames, Optuna
"""

from ccgbo.study.study import Study

__all__ = ["Study"]
