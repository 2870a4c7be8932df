"""What must hold after a round, from what the actors wrote down and what a fresh process finds in the file."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import ccgbo

SECONDS = 1.0  # within which every reader sees a told value


@dataclass(frozen=True, slots=True)
class Notes:
    """The log of one actor."""

    role: str
    kind: str
    lines: tuple[dict[str, Any], ...]
    killed: float | None  # when

    def of(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["what"] == what]


def read_log(path: Path) -> tuple[dict[str, Any], ...]:
    """Its whole lines; the last one may be cut by a kill."""
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return tuple(json.loads(line) for line in lines if line.endswith("\n"))


def inspect(folder: Path) -> None:
    """In a fresh process: what the file has, and whether a copy made by SQLite itself is sound."""
    with ccgbo.Study(folder / "study.db") as study:
        trials = [{"id": t.id, "params": dict(t.params), "state": t.state, "value": t.value} for t in study.trials]
    copy = sqlite3.connect(folder / "copy.db")
    source = sqlite3.connect(folder / "study.db")
    source.backup(copy)
    (sound,) = copy.execute("PRAGMA integrity_check").fetchone()
    source.close()
    copy.close()
    (folder / "found.json").write_text(json.dumps({"trials": trials, "integrity": sound}), encoding="utf-8")


def violations(folder: Path, actors: list[Notes]) -> list[str]:
    """Everything that was promised and did not hold, in words."""
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    stored = {trial["id"]: trial for trial in found["trials"]}
    wrong = [] if found["integrity"] == "ok" else [f"integrity_check: {found['integrity']}"]
    wrong += _lost(actors, stored)
    wrong += _given_twice(actors, stored)
    for reader in actors:
        wrong += _unseen(reader, actors)
    for path in sorted(folder.glob("*.err")):
        if text := path.read_text(encoding="utf-8", errors="replace").strip():
            wrong.append(f"{path.stem} said: {text[-600:]}")
    return wrong


def _lost(actors: list[Notes], stored: dict[int, Any]) -> list[str]:
    values = {trial["value"] for trial in stored.values()}
    wrong, told_by = [], {}
    for actor in actors:
        for line in actor.of("told"):
            where = "anywhere" if line["id"] is None else f"in trial {line['id']}"
            there = values if line["id"] is None else {stored.get(line["id"], {}).get("value")}
            if line["value"] not in there:
                wrong.append(f"lost: {actor.kind} told {line['value']}, which is not {where}")
            if line["id"] is not None and told_by.setdefault(line["id"], line["value"]) != line["value"]:
                wrong.append(f"trial {line['id']} was told twice, the second time by {actor.kind}")
    return wrong


def _given_twice(actors: list[Notes], stored: dict[int, Any]) -> list[str]:
    """Only a run that was killed may lose a trial to somebody else; what was asked by hand is waited for."""
    by_params = {json.dumps(trial["params"], sort_keys=True): i for i, trial in stored.items()}
    given: dict[int, list[tuple[float, Notes, bool]]] = {}
    wrong = []
    for actor in actors:
        for line in actor.of("gave"):
            params = line["params"] and json.dumps(line["params"], sort_keys=True)
            trial = by_params.get(params) if line["id"] is None else line["id"]
            if trial not in stored or (params and by_params.get(params) != trial):
                wrong.append(f"lost: {actor.kind} was given trial {line['id']} at {params}, which is not in the file")
            else:
                given.setdefault(trial, []).append((line["t"], actor, line["id"] is None))
    for trial, holders in given.items():
        holders.sort(key=lambda holder: holder[0])
        for (_, first, by_run), (at, second, _) in pairwise(holders):
            passed_on = by_run and first.killed is not None and first.killed <= at
            if first is second or not passed_on:
                wrong.append(f"trial {trial} was given to {first.kind} and again to {second.kind}")
    return wrong


def _sights(reader: Notes) -> dict[float, float]:
    """When the reader first saw each value."""
    return {value: line["t"] for line in reversed(reader.of("looked")) for value in line["saw"]}


def _unseen(reader: Notes, actors: list[Notes]) -> list[str]:
    seen, looks = _sights(reader), [line["began"] for line in reader.of("looked")]
    last = max(looks, default=0.0)
    late = [
        line["value"]
        for actor in actors
        for line in actor.of("told")
        if last >= line["t"] + SECONDS and seen.get(line["value"], float("inf")) > _answer(reader, line["t"] + SECONDS)
    ]
    return [f"{reader.kind} did not see {late} within {SECONDS:g} s"] if late else []


def _answer(reader: Notes, moment: float) -> float:
    """When the first look that began after the moment had its answer."""
    return min(line["t"] for line in reader.of("looked") if line["began"] >= moment)


def latencies(actors: list[Notes]) -> list[tuple[float, str]]:
    """Seconds from the return of each tell to its first sight by each reader, with the reader's kind."""
    times = []
    for reader in actors:
        seen = _sights(reader)
        told = [line for actor in actors if actor is not reader for line in actor.of("told")]
        times += [(max(0.0, seen[line["value"]] - line["t"]), reader.kind) for line in told if line["value"] in seen]
    return times


def stale_looks(actors: list[Notes]) -> int:
    """Looks that began after a tell had returned and did not show its value, be it for a moment."""
    told = [(line["t"], line["value"]) for actor in actors for line in actor.of("told")]
    stale = 0
    for reader in actors:
        seen = _sights(reader)
        for look in reader.of("looked"):
            stale += any(t < look["began"] and seen.get(value, float("inf")) > look["t"] for t, value in told)
    return stale
