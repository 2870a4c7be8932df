"""Spreadsheets in and out of the page.

POST /api/import?study=&name=&amend=&dry_run=    the file itself is the body; ``name`` says by its suffix what it is
GET  /api/export?study=&format=                  csv, semicolon (CSV with decimal commas) or xlsx
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ccgbo.errors import SettingError
from ccgbo.study import Study
from ccgbo.study.transfer import export_study, import_file
from ccgbo.text import printable, shorten
from ccgbo.viz.dashboard.given import Refused
from ccgbo.viz.dashboard.words import without_folder

LARGEST_UPLOAD = 5_000_000  # bytes
LARGEST_BOOK = 100_000_000  # bytes of a workbook once it is unpacked
MOST_LINES = 100  # changed and refused rows
KINDS = {"csv": "csv", "tsv": "csv", "txt": "csv", "xlsx": "xlsx"}
TYPES = {"csv": "text/csv", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}


def take_upload(study: Study, query: Mapping[str, str], data: bytes) -> dict[str, Any]:
    """Take the rows of an uploaded file in, or say what would become of them."""
    amend, dry_run = _switch(query, "amend"), _switch(query, "dry_run")
    name = query.get("name", "")
    kind = KINDS.get(name.rpartition(".")[2].lower())
    if kind is None:
        raise Refused(f"name must end in .csv, .tsv, .txt or .xlsx, got {shorten(name, 100)!r}.")
    if kind == "xlsx":
        _check_book(data)
    with TemporaryDirectory(prefix="ccgbo-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / f"the file.{kind}"
        path.write_bytes(data)
        try:
            plan = import_file(study, path, format=kind, amend=amend, dry_run=dry_run)
        except SettingError as error:  # which names the file
            raise Refused(without_folder(str(error), path)) from None
    lines = plan.details()
    return {
        "summary": str(plan),
        "lines": [printable(line) for line in lines[:MOST_LINES]],
        "more": max(len(lines) - MOST_LINES, 0),
        "told": len(plan.told),
        "new": len(plan.new),
        "changed": len(plan.changed),
        "refused": len(plan.refused),
    }


def _switch(query: Mapping[str, str], name: str) -> bool:
    value = query.get(name, "false")
    if value not in ("true", "false"):
        raise Refused(f"{name} must be true or false, got {shorten(value, 100)!r}.")
    return value == "true"


def _check_book(data: bytes) -> None:
    """A small workbook can unpack to one that fills the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            size = sum(part.file_size for part in book.infolist())
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError):
        raise Refused("the file is no workbook.") from None
    if size > LARGEST_BOOK:
        raise Refused(f"the workbook is too large: {size:,} bytes unpacked, {LARGEST_BOOK:,} at most.")


def made_table(study: Study, form: str) -> tuple[bytes, str, str]:
    """The trials as a file: its bytes, its type and its name."""
    if form not in ("csv", "semicolon", "xlsx"):
        raise Refused(f"format must be csv, semicolon or xlsx, got {shorten(form, 100)!r}.")
    kind = "xlsx" if form == "xlsx" else "csv"
    with TemporaryDirectory(prefix="ccgbo-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / f"trials.{kind}"
        export_study(study, path, dialect="semicolon" if form == "semicolon" else None)
        data = path.read_bytes()
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", study.name)[:60].strip("._") or "trials"
    return data, TYPES[kind], f"{name}.{kind}"
