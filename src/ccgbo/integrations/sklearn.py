"""Searches over hyperparameters for scikit-learn: ``CCGBOSearchCV``, in the place of ``RandomizedSearchCV``, and
``CCGBOHalvingSearchCV``, in the place of ``HalvingRandomSearchCV``.

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.options import refuse_goals
from ccgbo.engine.settings import resolve
from ccgbo.errors import MissingExtraError, SettingError, SpaceExhaustedError
from ccgbo.records import Trial
from ccgbo.space import Space
from ccgbo.validation import optional_whole_number, whole_number

try:
    from joblib import effective_n_jobs
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.model_selection._search_successive_halving import HalvingRandomSearchCV
    from sklearn.utils import check_random_state

    from ccgbo.integrations._sklearn_evaluation import Evaluation
    from ccgbo.integrations._sklearn_space import Candidates
except ImportError as error:
    raise MissingExtraError("ccgbo.integrations.sklearn", "sklearn") from error


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
        guide = _Guide(self, whole_number("n_iter", self.n_iter))
        evaluation = Evaluation(self, evaluate_candidates, self._checked_cv_orig)
        search = None
        if callback_ctx is not None:
            search = callback_ctx.subcontext(task_name="search", max_subtasks=math.ceil(self.n_iter / guide.batch_size))
            search.call_on_fit_task_begin(estimator=self)
        guide.run(evaluation, search, f"n_iter={self.n_iter}")
        if search is not None:
            search.call_on_fit_task_end(estimator=self)


class CCGBOHalvingSearchCV(HalvingRandomSearchCV):  # type: ignore[misc]
    """Successive halving whose first iteration is guided by a model; arguments are those of ``HalvingRandomSearchCV``
    and ``n_initial``, ``batch_size``, ``preset`` and ``settings`` of ``CCGBOSearchCV``.

    The candidates of the first iteration, which get the fewest resources, are chosen one batch after the other by what
    the batches before have scored, instead of all at random. The best of them go on as in scikit-learn.
    """

    _parameter_constraints = {  # noqa: RUF012 - as in every estimator of scikit-learn
        **HalvingRandomSearchCV._parameter_constraints,
        "param_distributions": [dict, list, Space],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_candidates: int | str = "exhaust",
        factor: float = 3,
        resource: str = "n_samples",
        max_resources: int | str = "auto",
        min_resources: int | str = "smallest",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        n_initial: int | None = None,
        batch_size: int | None = None,
        preset: Any = "default",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_initial = n_initial
        self.batch_size = batch_size
        self.preset = preset
        self.settings = settings
        super().__init__(
            estimator,
            param_distributions,
            n_candidates=n_candidates,
            factor=factor,
            resource=resource,
            max_resources=max_resources,
            min_resources=min_resources,
            aggressive_elimination=aggressive_elimination,
            cv=cv,
            scoring=scoring,
            refit=refit,
            error_score=error_score,
            return_train_score=return_train_score,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _generate_candidate_params(self) -> list[dict[str, Any]]:
        """As many places as the first iteration has candidates; the model fills them one batch after the other."""
        n = self.max_resources_ // self.min_resources_ if self.n_candidates == "exhaust" else self.n_candidates
        names = Candidates(self.param_distributions).names
        return [dict.fromkeys(names) for _ in range(n)]

    def _run_search(self, evaluate_candidates: Callable[..., Any], *, callback_ctx: Any = None) -> None:
        def evaluate(places: Sequence[Mapping[str, Any]], cv: Any, more_results: Mapping[str, Any], **task: Any) -> Any:
            if more_results["iter"][0] > 0:
                return evaluate_candidates(places, cv, more_results=more_results, **task)
            given = {} if self.resource == "n_samples" else {self.resource: places[0][self.resource]}
            rung = _FirstIteration(evaluate_candidates, given, more_results)
            guide = _Guide(self, len(places))
            guide.run(Evaluation(self, rung, cv), task.get("callback_ctx"), f"n_candidates={len(places)}")
            return rung.results

        super()._run_search(evaluate, **({} if callback_ctx is None else {"callback_ctx": callback_ctx}))


class _FirstIteration:
    """``evaluate_candidates`` with the resources of the first iteration; keeps the results so far."""

    def __init__(
        self, evaluate_candidates: Callable[..., Any], given: Mapping[str, Any], more_results: Mapping[str, Any]
    ) -> None:
        self._evaluate, self._given = evaluate_candidates, given
        self._more = {name: values[0] for name, values in more_results.items()}
        self.results: Any = None

    def __call__(self, candidates: Sequence[Mapping[str, Any]], cv: Any, **task: Any) -> Any:
        more = {name: [value] * len(candidates) for name, value in self._more.items()}
        self.results = self._evaluate([{**c, **self._given} for c in candidates], cv, more_results=more, **task)
        return self.results


class _Guide:
    """The engine that chooses the candidates of a search, batch after batch."""

    def __init__(self, search: Any, n: int) -> None:
        for name in ("batch_size", "n_initial"):
            optional_whole_number(name, getattr(search, name))
        if not isinstance(search.settings, Mapping | None):
            raise SettingError(f"settings must be None or a dict of fields of Settings, got {search.settings!r}.")
        refuse_goals(search.settings or {}, "scikit-learn's searches have one score to search by, named by refit")
        self._n, self._search = n, search
        self.batch_size = search.batch_size if search.batch_size is not None else effective_n_jobs(search.n_jobs)
        self._candidates = Candidates(search.param_distributions)
        space = self._candidates.space
        settings = resolve(search.preset, **(search.settings or {}))
        n_initial = search.n_initial or settings.n_initial or min(settings.initial_size(space.d), max(n // 3, 1))
        seed = int(check_random_state(search.random_state).randint(np.iinfo(np.int32).max))
        search.optimizer_ = Optimizer(space, preset=replace(settings, n_initial=int(n_initial)), seed=seed)

    def run(self, evaluation: Evaluation, context: Any, wanted: str) -> None:
        optimizer, asked = self._search.optimizer_, 0
        while asked < self._n and not evaluation.stopped:
            batch = _ask(optimizer, min(self.batch_size, self._n - asked))
            if not batch:
                warnings.warn(f"{wanted} is more than the space has points, {asked}.", stacklevel=3)
                break
            asked += len(batch)
            points = [self._candidates.decode(trial.params) for trial in batch]
            scores = evaluation.run(points, context, last=asked == self._n)
            for trial, score in zip(batch, scores, strict=True):
                optimizer.tell(trial, score)  # NaN counts as failed
        evaluation.close()


def _ask(optimizer: Optimizer, n: int) -> list[Trial]:
    """``n`` trials, or as many as the space has left."""
    batch: list[Trial] = []
    with suppress(SpaceExhaustedError):
        while len(batch) < n:
            batch.append(optimizer.ask())
    return batch
