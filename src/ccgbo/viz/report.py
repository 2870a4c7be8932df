"""A report: one HTML file that carries its data, its script and the plotting library, and opens offline.

Text from a study is data in it, never markup: JSON whose ``<`` is written as an escape, shown by a script that only
makes text nodes. A content security policy names the scripts by their hashes, so that nothing else could run
and nothing could be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ccgbo.engine.optimizer import Optimizer
from ccgbo.errors import StorageError
from ccgbo.files import replacing
from ccgbo.records import Event
from ccgbo.versions import versions
from ccgbo.viz.assets import VIEWS, asset
from ccgbo.viz.model_view import Source, optimizer_of
from ccgbo.viz.payload import analysis_payload, study_payload, to_json
from ccgbo.viz.reproduction import reproduction


def write_report(source: Source, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the report of an Optimizer or a Study; returns where it is."""
    target = Path(path)
    text = report_html(source, title=title)
    try:
        with replacing(target) as draft:
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write the report {str(target)!r}: {error.strerror}.") from None
    return target


def report_html(source: Source, *, title: str | None = None) -> str:
    """The report as text."""
    opt = optimizer_of(source)
    name, file = _whereabouts(source) if hasattr(source, "path") else ("optimization", None)
    data = {
        "title": title or name,
        "file": file,
        "study": study_payload(name, opt.space, opt.metrics, opt.trials, times=_times(source), log=_log(source, opt)),
        "analysis": analysis_payload(opt),
        "reproduction": reproduction(opt.space, opt.metrics, opt.settings, name, file),
    }
    scripts = [asset(name) for name in (*VIEWS, "report.js")]
    parts = {
        "policy": _policy(scripts),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
        "style": asset("style.css"),
        "version": versions()["ccgbo"],
        "written": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "data": inline_json(data),
    }
    return fill(asset("report.html"), parts)


def _whereabouts(study: Any) -> tuple[str, str]:
    """A study's name, and the name of its file: the folder is nobody's business."""
    return study.name, study.path.name


def _times(source: Any) -> dict[int, tuple[float, float | None]] | None:
    """When trials were asked and told, which a study knows."""
    return source.times() if hasattr(source, "times") else None


def _log(source: Any, opt: Optimizer) -> list[Event]:
    """Of a study the whole one: its optimizer has only what it was told itself."""
    found: list[Event] = source.log() if hasattr(source, "log") else opt.log()
    return found


def inline_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return to_json(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def fill(template: str, parts: dict[str, str]) -> str:
    """Every ``{{name}}`` of the template replaced, in one pass: what is filled in is not looked through again."""
    first, *rest = template.split("{{")
    out = [first]
    for piece in rest:
        name, tail = piece.split("}}", 1)
        out += [parts[name], tail]
    return "".join(out)


def _policy(scripts: Sequence[str]) -> str:
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
