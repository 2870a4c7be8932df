"""A study as the page sees it.

Trials are read on every question, which costs little: a study in memory only takes in what changed. What needs the
model is computed beside the requests (analyst.py), and the last known answer is served meanwhile.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from ccgbo.records import Trial
from ccgbo.study import Study
from ccgbo.viz.dashboard.analyst import Analyst
from ccgbo.viz.payload import study_payload, to_json

REST = 2.0  # an analysis that took s seconds is followed by REST * s without one: the study's own work goes first


class Follower:
    """One study of a file, for any number of requests at once."""

    def __init__(self, path: Path, name: str, analyst: Analyst) -> None:
        self.name, self._analyst = name, analyst
        self._study = Study(path, name=name)
        self._lock = threading.Lock()
        self._trials: tuple[Trial, ...] | None = None
        self._revision = 0  # of the trials, counted here
        self._json: bytes | None = None  # of the trials at that revision
        self._analysis, self._analysis_version = b"{}", 0
        self._analysed = -1  # revision that the last analysis began with
        self._busy, self._not_before = False, 0.0

    def close(self) -> None:
        self._study.close()

    def pulse(self) -> dict[str, int]:
        """What a page asks every second: the versions of what it could fetch."""
        with self._lock:
            self._look()
            self._keep_analysing()
            return {"revision": self._revision, "analysis": self._analysis_version}

    def study_json(self) -> bytes:
        with self._lock:
            self._look()
            if self._json is None:
                assert self._trials is not None
                payload = study_payload(self.name, self._study.space, self._study.direction, self._trials)
                self._json = to_json(payload | {"revision": self._revision}).encode("utf-8")
            return self._json

    def analysis_json(self) -> tuple[int, bytes]:
        with self._lock:
            return self._analysis_version, self._analysis

    def _look(self) -> None:
        trials = self._study.trials
        if trials != self._trials:  # unchanged trials are the same objects: this compares pointers
            self._trials, self._json = trials, None
            self._revision += 1

    # -- the model's part

    def _keep_analysing(self) -> None:
        if self._busy or self._analysed == self._revision or time.monotonic() < self._not_before:
            return
        if self._json is None:  # the page has not fetched these trials yet: it gets them before the processor is busy
            return
        self._busy, self._analysed = True, self._revision
        threading.Thread(target=self._analyse, name=f"ccgbo-analysis-{self.name}", daemon=True).start()

    def _analyse(self) -> None:
        began, before = time.monotonic(), self._analysis_version
        try:
            for stage in self._analyst.stages(self.name):
                with self._lock:
                    self._analysis = stage
                    self._analysis_version += 1
        finally:
            with self._lock:
                self._busy = False
                if self._analysis_version == before:
                    self._analysed = -1  # the process died: try again
                self._not_before = time.monotonic() + max(1.0, REST * (time.monotonic() - began))


class Followers:
    """The studies of one file, each followed once somebody looks at it."""

    def __init__(self, path: Path) -> None:
        self.path, self._analyst = path, Analyst(path)
        self._lock = threading.Lock()
        self._by_name: dict[str, Follower] = {}

    def get(self, name: str) -> Follower:
        """Raises StudyNotFoundError for a name that the file does not have."""
        with self._lock:
            if name not in self._by_name:
                self._by_name[name] = Follower(self.path, name, self._analyst)
            return self._by_name[name]

    def forget(self, name: str) -> None:
        """Let go of a study that was deleted, or deleted and made anew."""
        with self._lock:
            gone = self._by_name.pop(name, None)
        if gone is not None:
            gone.close()

    def close(self) -> None:
        self._analyst.close()
        with self._lock:
            for follower in self._by_name.values():
                follower.close()
            self._by_name.clear()
