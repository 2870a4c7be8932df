"""The studies of one file as the page sees them, each read once for any number of pages.

A page asks every second. Whether anything was written since, the sizes and times of the file and of the journal beside
it say; trials are read when they moved, and every page gets only those that changed since it last asked. What needs the
model is computed beside the requests (analyst.py), and the last known answer is served meanwhile.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import threading
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ccgbo.errors import StorageError, StudyNotFoundError
from ccgbo.records import Event, Trial
from ccgbo.space import Space
from ccgbo.storage import Address, Place, StudyInfo, list_studies
from ccgbo.study import Study
from ccgbo.viz.dashboard.analyst import Analyst
from ccgbo.viz.payload import improvements, study_payload, to_json
from ccgbo.viz.reproduction import reproduction

PAUSE_PER_ANALYSIS = 2.0  # seconds without one for each second that an analysis took: the study's own work is first
TRUSTED = 1.0  # seconds for which a state that did not change is believed: clocks of file systems tick slowly
LISTED = 0.5  # seconds between two countings of all studies
MOST_FOLLOWED = 32  # studies held open at a time

State = tuple[tuple[int, ...], ...]  # of the file and of its journal: which they are, how large, when written


@dataclass(frozen=True)
class Answer:
    """A body that many pages get."""

    body: bytes

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.body, compresslevel=1, mtime=0)


class Follower:
    """One study of a file, for any number of requests at once."""

    def __init__(self, path: Place, name: str, analyst: Analyst) -> None:
        self.name, self._analyst = name, analyst
        self._study = Study(path, name=name)
        self._lock = threading.Lock()
        self._state: State = ()  # of the file when the trials were last read
        self._looked = 0.0  # and when that was
        self._trials: dict[int, Trial] = {}
        self._log: list[Event] = []
        self.space: Space = self._study.space
        self._metrics = self._study.metrics
        self._start()
        self._busy, self._not_before = False, 0.0

    def _start(self) -> None:
        """Count from the start: what was told of an earlier series is of no use."""
        self._series, self._revision = secrets.token_hex(6), 0
        self._changed: dict[int, int] = {}  # revision at which each trial was last another
        self._answers: dict[int, Answer] = {}  # by the revision that a page has already
        self._analysis, self._analysis_version = Answer(b"{}"), 0
        self._analysed = -1  # revision that the last analysis began with

    def close(self) -> None:
        self._study.close()

    def look(self, state: State) -> None:
        """Take in what changed. Raises StudyNotFoundError if the study was deleted."""
        with self._lock:
            if state == self._state and time.monotonic() - self._looked < TRUSTED:
                return
            trials = self._study.trials
            self._state, self._looked = state, time.monotonic()
            # unchanged trials are the same objects: this compares pointers
            new = [t for t in trials if self._trials.get(t.id) is not t]
            moved = self._study.space != self.space or self._study.metrics != self._metrics
            if not (new or moved) and len(trials) == len(self._trials) and self._revision:
                return
            self._trials = {t.id: t for t in trials}
            if moved or not self._changed.keys() <= self._trials.keys():
                self.space, self._metrics, new = self._study.space, self._study.metrics, list(trials)
                self._start()
            self._log = self._study.log()  # who changes something by hand changes a trial or the space
            self._revision += 1
            self._answers = {}
            self._changed |= {t.id: self._revision for t in new}

    def pulse(self) -> dict[str, str]:
        """What a page asks every second: the versions of what it could fetch."""
        with self._lock:
            self._keep_analysing()
            return {"revision": self._version(self._revision), "analysis": self._version(self._analysis_version)}

    def _version(self, count: int) -> str:
        return f"{self._series}.{count}"  # of this series: another one may have reached the same number

    def study(self, since: str = "") -> Answer:
        """The trials: those that changed after the version ``since``, or all where that is none of ours."""
        with self._lock:
            series, _, count = since.partition(".")
            known = int(count) if series == self._series and count.isdecimal() else 0
            if known not in self._answers:
                self._answers[known] = Answer(to_json(self._payload(known)).encode("utf-8"))
            return self._answers[known]

    def _payload(self, known: int) -> dict[str, Any]:
        trials = list(self._trials.values())
        changed = trials if not known else [t for t in trials if self._changed[t.id] > known]
        metrics, times = self._metrics, self._study.times()
        payload = study_payload(self.name, self.space, metrics, trials, show=changed, times=times, log=self._log)
        since = self._version(known) if known else None
        return payload | {"revision": self._version(self._revision), "since": since}

    def analysis(self) -> tuple[str, Answer]:
        with self._lock:
            return self._version(self._analysis_version), self._analysis

    def improvements(self) -> dict[str, Any]:
        """The best value so far, where it changed: after how many evaluations, and to what."""
        with self._lock:
            steps = improvements(self._trials.values(), self._metrics)
            n = sum(t.in_model for t in self._trials.values())
        named = None if self._metrics.plain else self._metrics.to_dict()
        return {"name": self.name, "direction": self._metrics.direction, "metrics": named, "n": n, "steps": steps}

    def reproduction(self, file: str) -> dict[str, Any]:
        """How to make it again, from the file of that name."""
        study = self._study
        return reproduction(self.space, self._metrics, study.settings, study.name, file)

    # -- the model's part

    def _keep_analysing(self) -> None:
        if self._busy or self._analysed == self._revision or time.monotonic() < self._not_before:
            return
        if not self._answers:  # no page has fetched these trials yet: it gets them before the processor is busy
            return
        self._busy, self._analysed = True, self._revision
        threading.Thread(target=self._analyse, name=f"ccgbo-analysis-{self.name}", daemon=True).start()

    def _analyse(self) -> None:
        began, before, series = time.monotonic(), self._analysis_version, self._series
        try:
            for stage in self._analyst.stages(self.name):
                with self._lock:
                    if self._series != series:  # of another space, or of another file
                        continue
                    self._analysis = Answer(stage)
                    self._analysis_version += 1
        finally:
            with self._lock:
                self._busy = False
                if self._series == series and self._analysis_version == before:
                    self._analysed = -1  # the process died: try again
                self._not_before = time.monotonic() + max(1.0, PAUSE_PER_ANALYSIS * (time.monotonic() - began))


class Followers:
    """One file: its studies, each followed once somebody looks at it."""

    def __init__(self, path: Place) -> None:
        self.path, self._analyst = path, Analyst(path)
        self._lock = threading.Lock()
        self._by_name: dict[str, Follower] = {}  # the last used last
        self._identity: tuple[int, ...] | None = None  # device and inode: a path can come to name another file
        self._listed: tuple[State, float] = ((), 0.0)  # state and time of the list below
        self._infos: list[StudyInfo] = []
        self._deleted: set[str] = set()

    def get(self, name: str) -> Follower:
        """The study as the file has it now. Raises StudyNotFoundError where there is none, or no file."""
        while True:
            state, follower = self._find(name)
            try:
                follower.look(state)
                return follower
            except StudyNotFoundError:  # deleted, and perhaps made anew
                self._forget(name, follower)
            except StorageError:  # what is open is of no use any more; the next one to ask opens it again
                self._forget(name, follower)
                raise

    def _find(self, name: str) -> tuple[State, Follower]:
        with self._lock:
            state = self._look()
            if name not in self._by_name:
                names = [info.name for info in self._list(state, 0.0)]
                if name not in names:
                    raise StudyNotFoundError(self._missing(name, names))
                self._by_name[name] = Follower(self.path, name, self._analyst)
                while len(self._by_name) > MOST_FOLLOWED:
                    self._drop(next(iter(self._by_name)))
            self._by_name[name] = self._by_name.pop(name)
            self._deleted.discard(name)
            return state, self._by_name[name]

    def _missing(self, name: str, names: list[str]) -> str:
        there = f"; it has {names!r}" if names else ""
        if name in self._deleted:
            return f"the study {name!r} was deleted from {self.path.name!r}{there}."
        return f"{self.path.name!r} has no study {name!r}{there}."

    def studies(self) -> list[StudyInfo]:
        """Every study at a glance, half a second old at most while the file changes."""
        with self._lock:
            return self._list(self._look(), LISTED)

    def comparison(self) -> list[dict[str, Any]]:
        """The best value of each study so far, of as many as are followed at a time."""
        found = []
        for info in self.studies()[:MOST_FOLLOWED]:
            with contextlib.suppress(StudyNotFoundError):  # deleted meanwhile
                found.append(self.get(info.name).improvements())
        return found

    def _list(self, state: State, period: float) -> list[StudyInfo]:
        """The studies, read again if the file has changed and the list is older than the period."""
        known, at = self._listed
        age = time.monotonic() - at
        if (known != state and age >= period) or age >= 2.0 * TRUSTED:
            self._infos, self._listed = list_studies(self.path), (state, time.monotonic())
        return self._infos

    def _look(self) -> State:
        """The state of the file. One that was deleted or replaced is let go: what is open would show it for ever.

        Of a database it says nothing: it is asked once it is no longer trusted.
        """
        if isinstance(self.path, Address):
            return ((0,),)
        try:
            file = _stat(self.path)
        except OSError as error:
            self._let_go()
            why = "it was deleted or moved" if isinstance(error, FileNotFoundError) else error.strerror
            raise StudyNotFoundError(f"there is no file {self.path.name!r} any more: {why}.") from None
        if self._identity != file[:2]:
            self._let_go()
            self._identity = file[:2]
        try:
            return file, _stat(Path(f"{self.path}-wal"))
        except OSError:
            return (file,)

    def _forget(self, name: str, follower: Follower) -> None:
        with self._lock:
            if self._by_name.get(name) is follower:
                self._drop(name)

    def _drop(self, name: str) -> None:
        gone = self._by_name.pop(name, None)
        if gone is not None:
            self._deleted.add(name)
            gone.close()

    def _let_go(self) -> None:
        for follower in self._by_name.values():
            follower.close()
        self._by_name.clear()
        self._deleted.clear()
        self._identity, self._infos, self._listed = None, [], ((), 0.0)

    def close(self) -> None:
        self._analyst.close()
        with self._lock:
            self._let_go()


def _stat(path: Path) -> tuple[int, ...]:
    """Which file it is, how large, when written. Without opening it, which would cost SQLite its locks."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
