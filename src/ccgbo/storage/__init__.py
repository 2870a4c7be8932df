"""Studies in a file: one SQLite database (WAL), many studies in it.

schema.py       tables, version, migrations
database.py     connection, transactions, SQLite's errors in plain words
rows.py         what is read and written: a study's definition, a trial with its times and its worker
file.py         the statements
workers.py      who holds a trial, and whether that process still lives
"""

from ccgbo.storage.file import StudyFile, StudyInfo, delete_study, list_studies
from ccgbo.storage.rows import StudyRow, TrialRow
from ccgbo.storage.schema import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "StudyFile", "StudyInfo", "StudyRow", "TrialRow", "delete_study", "list_studies"]
