"""A search over hyperparameters for scikit-learn: ``CCGBOSearchCV``, in the place of ``RandomizedSearchCV``.

How ``param_distributions`` is read, a dict as scikit-learn's own searches read it:

    list, tuple, array              one of its values; numbers that rise or fall are searched as an ordered grid
    scipy.stats uniform             a number, on a linear scale
    scipy.stats loguniform          a number, on a log scale
    scipy.stats discrete            a whole number
    other scipy.stats continuous    a number, searched by its quantile (0.1 % to 99.9 % where the tail is endless)
    ccgbo Float, Int, Categorical   as it is
    a list of such dicts            one of them; parameters of the others are left out
    a ccgbo Space                   as it is, with its conditions and constraints
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import resolve
from ccgbo.errors import MissingExtraError, SettingError, SpaceExhaustedError
from ccgbo.records import Trial
from ccgbo.space import Categorical, Float, Int, Parameter, Space
from ccgbo.validation import optional_whole_number, whole_number

try:
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
except ImportError as error:
    raise MissingExtraError("ccgbo.integrations.sklearn", "sklearn") from error

TAIL = 1e-3  # probability cut from an endless tail
WHICH = "which of the dicts"  # the engine's name for the choice between several dicts


class CCGBOSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Cross-validated search guided by a model of the scores; arguments are those of ``RandomizedSearchCV``, and

    n_initial     candidates before the model takes over; None is max(2 d, 10), but a third of ``n_iter`` at most
    batch_size    candidates chosen and evaluated together; None is one for each of the ``n_jobs`` workers
    preset        ``"default"`` or ``"paper"``
    settings      dict of further fields of ``ccgbo.Settings``

    With several metrics ``refit`` must name the one to search by. After ``fit``, ``optimizer_`` is the engine:
    ``optimizer_.credits()`` tells how much each candidate says about the optimum. A callback whose
    ``on_fit_task_end`` returns true at the end of a "batch" task ends the search.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_initial: int | None = None,
        batch_size: int | None = None,
        preset: Any = "default",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.n_initial = n_initial
        self.batch_size = batch_size
        self.preset = preset
        self.settings = settings
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[..., Any], *, callback_ctx: Any = None) -> None:
        candidates = _Candidates(self.param_distributions)
        self.optimizer_ = self._make_optimizer(candidates.space)
        size = self.batch_size if self.batch_size is not None else effective_n_jobs(self.n_jobs)
        evaluation = _Evaluation(self, evaluate_candidates)
        search = None
        if callback_ctx is not None:
            search = callback_ctx.subcontext(task_name="search", max_subtasks=math.ceil(self.n_iter / size))
            search.call_on_fit_task_begin(estimator=self)
        asked = 0
        while asked < self.n_iter:
            batch = _ask(self.optimizer_, min(size, self.n_iter - asked))
            if not batch:
                warnings.warn(f"n_iter={self.n_iter} is more than the space has points, {asked}.", stacklevel=2)
                break
            asked += len(batch)
            last = asked == self.n_iter
            scores = evaluation.run([candidates.decode(trial.params) for trial in batch], search, last)
            for trial, score in zip(batch, scores, strict=True):
                self.optimizer_.tell(trial, score)  # NaN counts as failed
            if evaluation.stopped:
                break
        evaluation.close()
        if search is not None:
            search.call_on_fit_task_end(estimator=self)

    def _make_optimizer(self, space: Space) -> Optimizer:
        for name in ("n_iter", "batch_size", "n_initial"):
            (whole_number if name == "n_iter" else optional_whole_number)(name, getattr(self, name))
        settings = resolve(self.preset, **(self.settings or {}))
        n_initial = self.n_initial or min(settings.initial_size(space.d), max(self.n_iter // 3, 1))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return Optimizer(space, preset=replace(settings, n_initial=int(n_initial)), seed=seed)


def _ask(optimizer: Optimizer, n: int) -> list[Trial]:
    """``n`` trials, or as many as the space has left."""
    batch: list[Trial] = []
    with suppress(SpaceExhaustedError):
        while len(batch) < n:
            batch.append(optimizer.ask())
    return batch


class _Evaluation:
    """Cross-validation of one batch after another.

    scikit-learn raises if every fit of a batch fails, and records nothing of it. One bad candidate must not end the
    search, so such a batch is evaluated again along with the next one.
    """

    def __init__(self, search: CCGBOSearchCV, evaluate_candidates: Callable[..., Any]) -> None:
        self._search, self._evaluate = search, evaluate_candidates
        self._splits = _SameSplits(search._checked_cv_orig)
        self._unrecorded: list[dict[str, Any]] = []
        self._failure: ValueError | None = None
        self._recorded = 0
        self.stopped = False  # a callback asked for it

    def run(self, batch: list[dict[str, Any]], context: Any, last: bool) -> list[float]:
        """Mean test scores, ``error_score`` for candidates that failed."""
        candidates = self._unrecorded + batch
        task = {}
        if context is not None:
            task["callback_ctx"] = context.subcontext(
                task_name="batch",
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


class _SameSplits:
    """A splitter that shuffles anew at every call would make the candidates' scores incomparable."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        if self._splits is None:
            self._splits = list(self._cv.split(X, y, **params))
        return self._splits


# -- search spaces


class _Candidates:
    """The engine's space for ``param_distributions``, and its points as scikit-learn's candidates."""

    def __init__(self, param_distributions: Any) -> None:
        self._entries: dict[str, tuple[str, Callable[[Any], Any]]] = {}  # engine's name: scikit-learn's, its values
        if isinstance(param_distributions, Space):
            self.space = param_distributions
            self._entries = {name: (name, _same) for name in param_distributions}
        else:
            self.space = Space(self._parameters(param_distributions))

    def _parameters(self, param_distributions: Any) -> dict[str, Parameter]:
        dicts = [param_distributions] if isinstance(param_distributions, Mapping) else param_distributions
        if not isinstance(dicts, Sequence) or not dicts or not all(isinstance(d, Mapping) and d for d in dicts):
            raise SettingError(
                f"param_distributions must be a non-empty dict, a list of them or a Space, got {param_distributions!r}."
            )
        parameters: dict[str, Parameter] = {}
        if len(dicts) > 1:
            parameters[WHICH] = Categorical(range(len(dicts)))
        for i, one in enumerate(dicts):
            for name, spec in one.items():
                key = name if len(dicts) == 1 else f"{i}: {name}"
                parameter, values = _parameter(name, spec)
                parameters[key] = parameter if len(dicts) == 1 else replace(parameter, active_if={WHICH: i})
                self._entries[key] = (name, values)
        return parameters

    def decode(self, params: Mapping[str, Any]) -> dict[str, Any]:
        entries = ((self._entries[key], value) for key, value in params.items() if key != WHICH)
        return {name: values(value) for (name, values), value in entries}


def _same(value: Any) -> Any:
    return value


def _parameter(name: str, spec: Any) -> tuple[Parameter, Callable[[Any], Any]]:
    """A parameter, and the map from its values to scikit-learn's."""
    if isinstance(spec, Float | Int | Categorical):
        return spec, _same
    if hasattr(spec, "ppf") and hasattr(spec, "support"):
        return _from_distribution(spec)
    if hasattr(spec, "rvs"):
        raise SettingError(f"param_distributions[{name!r}] must have ppf and support, not rvs alone, got {spec!r}.")
    if isinstance(spec, str | bytes) or not isinstance(spec, Iterable) or not (choices := list(spec)):
        raise SettingError(f"param_distributions[{name!r}] must be a non-empty list or a distribution, got {spec!r}.")
    by_index = choices.__getitem__
    return (Int(0, len(choices) - 1) if _ordered(choices) else Categorical(range(len(choices)))), by_index


def _ordered(choices: list[Any]) -> bool:
    if not all(isinstance(c, Real) and not isinstance(c, bool | np.bool_) for c in choices):
        return False
    steps = np.diff(np.array(choices, dtype=float))
    return bool(np.all(steps > 0) or np.all(steps < 0))


def _from_distribution(distribution: Any) -> tuple[Parameter, Callable[[Any], Any]]:
    low, high = (float(end) for end in distribution.support())
    p_low, p_high = (0.0 if math.isfinite(low) else TAIL), (1.0 if math.isfinite(high) else 1.0 - TAIL)
    if hasattr(distribution, "pmf"):
        ends = low if p_low == 0.0 else distribution.ppf(p_low), high if p_high == 1.0 else distribution.ppf(p_high)
        return Int(int(ends[0]), int(ends[1])), _same
    kind = getattr(getattr(distribution, "dist", None), "name", "")
    if kind == "uniform" or low == high:
        return Float(low, high), _same
    if kind in ("loguniform", "reciprocal") and low > 0.0:
        return Float(low, high, log=True), _same
    return Float(p_low, p_high), lambda p: float(distribution.ppf(p))
