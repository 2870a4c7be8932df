"""CCGBOHalvingSearchCV, against scikit-learn's own estimator checks and against HalvingRandomSearchCV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection._search_successive_halving import HalvingRandomSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from ccgbo import Float, SettingError, Space
from ccgbo.integrations.sklearn import CCGBOHalvingSearchCV

pytestmark = pytest.mark.heavy

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
SVM = {"C": stats.loguniform(1e-3, 1e3), "gamma": stats.loguniform(1e-4, 1e1)}


def fitted(Search: Any = CCGBOHalvingSearchCV, estimator: Any = None, space: Any = None, **options: Any) -> Any:
    options = {"n_candidates": 12, "factor": 3, "min_resources": 30, "cv": 3, "random_state": 0, **options}
    estimator = SVC() if estimator is None else estimator  # an ensemble has a length, and is false before fit
    return Search(estimator, SVM if space is None else space, **options).fit(X, y)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning:sklearn")
def test_the_estimator_checks_of_scikit_learn_pass() -> None:
    space = {"C": stats.loguniform(0.1, 1.0)}
    options: dict[str, Any] = {"n_candidates": 3, "min_resources": "smallest", "cv": 2, "random_state": 0}
    ours, theirs = (
        check_estimator(Search(LogisticRegression(), space, error_score="raise", **options), on_fail=None, on_skip=None)
        for Search in (CCGBOHalvingSearchCV, HalvingRandomSearchCV)
    )
    failed = [{c["check_name"] for c in checks if c["status"] == "failed"} for checks in (ours, theirs)]
    assert failed[0] <= failed[1], "a check that scikit-learn's own halving passes"
    assert sum(c["status"] == "passed" for c in ours) > 45


def test_iterations_resources_and_results_are_those_of_halving_random_search() -> None:
    ours, theirs = fitted(), fitted(HalvingRandomSearchCV)
    for name in ("n_candidates_", "n_resources_", "n_iterations_", "n_remaining_candidates_", "min_resources_"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert list(ours.cv_results_["iter"]) == list(theirs.cv_results_["iter"])
    assert ours.best_score_ == ours.cv_results_["mean_test_score"][ours.best_index_]
    assert ours.predict(X).shape == y.shape


def test_only_the_best_of_an_iteration_go_on() -> None:
    results = fitted().cv_results_
    first, second = (np.flatnonzero(results["iter"] == i) for i in (0, 1))
    kept = {str(results["params"][i]) for i in second}
    best = sorted(first, key=lambda i: -results["mean_test_score"][i])
    assert kept <= {str(results["params"][i]) for i in best[: len(kept)]} or len(
        {results["mean_test_score"][i] for i in best[: len(kept) + 1]}
    ) <= len(kept)  # of equals, scikit-learn keeps the later


def test_the_first_iteration_scores_higher_than_candidates_at_random_with_the_same_resources() -> None:
    means = {Search: [] for Search in (CCGBOHalvingSearchCV, HalvingRandomSearchCV)}
    for seed in range(3):
        for Search, scores in means.items():
            results = fitted(Search, random_state=seed, n_candidates=18).cv_results_
            scores.append(results["mean_test_score"][results["iter"] == 0].mean())
    ours, theirs = (np.mean(scores) for scores in means.values())
    assert ours > theirs + 0.05


def test_the_engine_knows_the_candidates_of_the_first_iteration() -> None:
    search = fitted()
    assert [row.trial_id for row in search.optimizer_.credits()] == list(range(12))
    assert [t.value for t in search.optimizer_.trials] == list(search.cv_results_["mean_test_score"][:12])


def test_a_parameter_of_the_estimator_can_be_the_resource() -> None:
    search = fitted(
        estimator=RandomForestClassifier(random_state=0),
        space={"max_depth": stats.randint(1, 6), "max_features": stats.uniform(0.2, 0.8)},
        resource="n_estimators",
        max_resources=9,
        min_resources=1,
        n_candidates=9,
    )
    assert search.n_resources_ == [1, 3, 9]
    assert [p["n_estimators"] for p in search.cv_results_["params"]] == [1] * 9 + [3] * 3 + [9]
    assert search.best_params_["n_estimators"] == 9


def test_a_resource_that_is_searched_over_is_refused() -> None:
    with pytest.raises(ValueError, match="Cannot use parameter C as the resource"):
        fitted(resource="C", max_resources=9, min_resources=1)


def test_a_space_of_the_core_and_batches_are_welcome() -> None:
    space = Space({"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 1e1, log=True)})
    search = fitted(space=space, batch_size=5)
    assert search.n_candidates_ == [12, 4]


def test_an_int_random_state_makes_the_search_reproducible() -> None:
    one, other = fitted(), fitted()
    assert one.cv_results_["params"] == other.cv_results_["params"]
    assert one.cv_results_["params"] != fitted(random_state=1).cv_results_["params"]


def test_without_a_random_state_all_batches_of_an_iteration_see_the_same_rows() -> None:
    search = fitted(space={"C": [1.0, 1.0 + 1e-9, 1.0 + 2e-9]}, n_candidates=3, random_state=None)
    first = search.cv_results_["iter"] == 0
    assert len(set(search.cv_results_["mean_test_score"][first])) == 1


def test_a_small_grid_ends_the_first_iteration_early_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="n_candidates=12 is more than the space has points, 4"):
        search = fitted(space={"C": [0.01, 0.1, 1.0, 10.0]})
    assert list(search.cv_results_["iter"]).count(0) == 4


@pytest.mark.parametrize("name", ["n_initial", "batch_size"])
def test_a_wrong_argument_is_named_with_its_rule_and_value(name: str) -> None:
    with pytest.raises(SettingError, match=f"{name} must be None or a whole number >= 1, got 0"):
        fitted(**{name: 0})


def test_callbacks_of_scikit_learn_run_inside_the_search() -> None:
    monitor = ScoringMonitor(scoring="accuracy")
    search = CCGBOHalvingSearchCV(SVC(), SVM, n_candidates=6, min_resources=30, cv=3, random_state=0)
    search.set_callbacks(monitor).fit(X, y)
    assert search.n_candidates_[0] == 6
