"""Named optimisations that outlive the process.

study.py         ask, tell and run on a file
reader.py        what is known of it: trials, the best, credits
steps.py         what each of them does in one transaction
copy.py          the study in memory
definition.py    what a study is, stored and opened again
source.py        its trials for a run, with a heartbeat
transfer.py      CSV, JSON, Parquet, DataFrames, Optuna
"""

from ccgbo.study.study import Study

__all__ = ["Study"]
