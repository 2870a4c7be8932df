"""Cross-validation of candidates, batch after batch, through scikit-learn's own ``evaluate_candidates``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.exceptions import FitFailedWarning

from ccgbo.errors import SettingError


class Evaluation:
    """Cross-validation of one batch after another.

    scikit-learn raises if every fit of a batch fails, and records nothing of it. One bad candidate must not end the
    search, so such a batch is evaluated again along with the next one.
    """

    def __init__(self, search: Any, evaluate_candidates: Callable[..., Any], cv: Any) -> None:
        self._search, self._evaluate = search, evaluate_candidates
        self._splits = SameSplits(cv)
        self._unrecorded: list[dict[str, Any]] = []
        self._failure: ValueError | None = None
        self._recorded = self._batches = 0
        self.stopped = False  # a callback asked for it

    def run(self, batch: list[dict[str, Any]], context: Any, last: bool) -> list[float]:
        """Mean test scores, ``error_score`` for candidates that failed."""
        candidates = self._unrecorded + batch
        task = {}
        if context is not None:
            task["callback_ctx"] = context.subcontext(
                task_name="batch",
                task_id=None if context.sequential_subtasks else self._batches,
                max_subtasks=len(candidates) * self._search.n_splits_,
                sequential_subtasks=False,
            ).call_on_fit_task_begin(estimator=self._search)
        try:
            with warnings.catch_warnings():
                if not last:  # scikit-learn repeats this one for all candidates so far with every batch
                    warnings.filterwarnings("ignore", "One or more of the .* scores are non-finite", UserWarning)
                results = self._evaluate(candidates, cv=self._splits, **task)
        except ValueError as error:
            if self._search.error_score == "raise" or "fits failed" not in str(error):
                raise
            self._unrecorded, self._failure = candidates, error
            scores = [float(self._search.error_score)] * len(batch)
        else:
            self._unrecorded, self._recorded = [], self._recorded + len(candidates)
            scores = [float(v) for v in results[f"mean_test_{self._metric(results)}"][-len(batch) :]]
        if context is not None:
            self._batches += 1
            self.stopped = bool(task["callback_ctx"].call_on_fit_task_end(estimator=self._search))
        return scores

    def _metric(self, results: Mapping[str, Any]) -> str:
        """Which of several metrics to search by."""
        if "mean_test_score" in results:
            return "score"
        refit = self._search.refit
        if not isinstance(refit, str) or f"mean_test_{refit}" not in results:
            metrics = sorted(key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_"))
            raise SettingError(f"refit must name the metric to search by, one of {metrics}, got {refit!r}.")
        return refit

    def close(self) -> None:
        if self._failure is None or not self._unrecorded:
            return
        if not self._recorded:
            raise self._failure
        text = f"every fit of the last {len(self._unrecorded)} candidates failed; cv_results_ leaves them out."
        warnings.warn(f"{text}\n{self._failure}", FitFailedWarning, stacklevel=4)


class SameSplits:
    """A splitter that shuffles anew at every call would make the candidates' scores incomparable."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        if self._splits is None:
            self._splits = list(self._cv.split(X, y, **params))
        return self._splits
