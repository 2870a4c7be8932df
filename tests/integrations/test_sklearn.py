"""CCGBOSearchCV, against scikit-learn's own estimator checks and against RandomizedSearchCV."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris, make_regression
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, RandomizedSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from ccgbo import AtMost, Categorical, Float, Int, LinearConstraint, SettingError, Space
from ccgbo.errors import UnsupportedError
from ccgbo.integrations._sklearn_space import Candidates
from ccgbo.integrations.sklearn import CCGBOSearchCV

from .pages import run_example, run_page

pytestmark = pytest.mark.heavy

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
SVM = {"C": stats.loguniform(1e-3, 1e3), "gamma": stats.loguniform(1e-4, 1e1)}


def fitted(estimator: Any = None, space: Any = None, **options: Any) -> CCGBOSearchCV:
    options = {"n_iter": 9, "cv": 3, "random_state": 0, **options}
    return CCGBOSearchCV(estimator or SVC(), space or SVM, **options).fit(X, y)


# -- scikit-learn's own checks

AS_FOR_RANDOMIZED_SEARCH = {"check_supervised_y_2d": "no search of scikit-learn passes the inner warning on"}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning:sklearn")
@pytest.mark.parametrize(
    ("estimator", "name", "expected_to_fail"),
    [
        (LogisticRegression(), "C", {}),
        (Pipeline([("pca", PCA()), ("ridge", Ridge())]), "ridge__alpha", AS_FOR_RANDOMIZED_SEARCH),
    ],
    ids=["classifier", "regressor in a pipeline"],
)
def test_the_estimator_checks_of_scikit_learn_pass(estimator: Any, name: str, expected_to_fail: dict[str, str]) -> None:
    search = CCGBOSearchCV(
        estimator, {name: stats.loguniform(0.1, 1.0)}, n_iter=2, cv=2, error_score="raise", random_state=0
    )
    checks = check_estimator(search, expected_failed_checks=expected_to_fail, on_fail=None, on_skip=None)
    assert [c["check_name"] for c in checks if c["status"] == "failed"] == []
    assert {c["check_name"] for c in checks if c["status"] == "xfail"} == set(expected_to_fail)
    assert sum(c["status"] == "passed" for c in checks) > 45


# -- in the place of RandomizedSearchCV


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"return_train_score": True},
        {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"},
        {"scoring": "balanced_accuracy", "refit": False},
    ],
)
def test_results_have_the_shape_of_randomized_search(options: dict[str, Any]) -> None:
    space = {"C": stats.uniform(0.1, 5.0), "l1_ratio": [0.0, 0.5, 1.0]}
    options = {"n_iter": 4, "cv": 3, "random_state": 0, **options}
    estimator = LogisticRegression(solver="saga", tol=0.1, max_iter=500)
    ours, theirs = (kind(estimator, space, **options).fit(X, y) for kind in (CCGBOSearchCV, RandomizedSearchCV))
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    for key, column in theirs.cv_results_.items():
        assert type(ours.cv_results_[key]) is type(column)
        assert np.shape(ours.cv_results_[key]) == np.shape(column)
    public = {name for name in vars(theirs) if name.endswith("_")}
    assert {name for name in vars(ours) if name.endswith("_")} == public | {"optimizer_"}
    if options.get("refit", True):
        assert ours.predict(X).shape == y.shape
        assert ours.best_score_ == max(ours.cv_results_[f"mean_test_{options.get('refit', 'score')}"])


def test_it_finds_better_settings_than_random_search_with_the_same_budget() -> None:
    A, b = make_regression(80, 40, n_informative=5, noise=5.0, random_state=0)
    space = {"alpha": stats.loguniform(1e-4, 1e4)}
    better = 0
    for seed in range(5):
        ours, theirs = (
            kind(Lasso(max_iter=20_000), space, n_iter=12, cv=3, random_state=seed).fit(A, b).best_score_
            for kind in (CCGBOSearchCV, RandomizedSearchCV)
        )
        better += ours > theirs
    assert better >= 4


def test_an_int_random_state_makes_the_search_reproducible() -> None:
    first, second, other = fitted(), fitted(), fitted(random_state=1)
    assert first.cv_results_["params"] == second.cv_results_["params"]
    assert first.cv_results_["params"] != other.cv_results_["params"]
    state = np.random.RandomState(0)
    assert fitted(random_state=state).cv_results_["params"] == first.cv_results_["params"]


def test_a_search_can_be_cloned_pickled_and_fitted_again() -> None:
    search = fitted()
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.predict(X), search.predict(X))
    assert clone(search).fit(X, y).cv_results_["params"] == search.cv_results_["params"]
    assert search.fit(X, y).cv_results_["params"] == again.cv_results_["params"]


def test_two_workers_evaluate_batches_of_two() -> None:
    search = fitted(n_jobs=2, n_iter=7)
    assert len(search.cv_results_["params"]) == 7
    assert search.cv_results_["params"] == fitted(batch_size=2, n_iter=7).cv_results_["params"]
    assert search.cv_results_["params"] != fitted(n_iter=7).cv_results_["params"]


def test_every_candidate_sees_the_same_splits() -> None:
    search = fitted(space={"C": [1.0], "gamma": Float(0.1, 0.1000001)}, cv=ShuffleSplit(3, random_state=None), n_iter=4)
    for split in range(3):
        assert len(set(search.cv_results_[f"split{split}_test_score"])) == 1


def test_groups_and_sample_weights_are_passed_on() -> None:
    groups, weights = np.arange(len(y)) % 5, np.linspace(0.5, 1.5, len(y))
    search = CCGBOSearchCV(SVC(), SVM, n_iter=3, cv=GroupKFold(5), random_state=0)
    search.fit(X, y, groups=groups, sample_weight=weights)
    assert search.n_splits_ == 5


def test_a_callable_that_returns_several_scores_is_searched_by_the_one_named_in_refit() -> None:
    def scores(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        accuracy = float(np.mean(estimator.predict(X) == y))
        return {"accuracy": accuracy, "error": 1.0 - accuracy}

    search = fitted(scoring=scores, refit="accuracy")
    assert search.best_score_ == search.optimizer_.best_value == max(search.cv_results_["mean_test_accuracy"])


def test_several_metrics_without_one_to_search_by_and_constraints_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"refit must name the metric .*, one of \['accuracy', 'f1_macro'\]"):
        fitted(scoring=["accuracy", "f1_macro"], refit=False)
    for given in ({"objectives": {"a": "maximize"}}, {"outcome_constraints": {"a": AtMost(1.0)}}):
        message = f"{next(iter(given))} must be left out here: scikit-learn's searches have one score"
        with pytest.raises(UnsupportedError, match=message):
            fitted(settings=given)


# -- failures


class Moody(ClassifierMixin, BaseEstimator):
    """Fits only where ``a`` is small, or nowhere."""

    def __init__(self, a: float = 0.0, limit: float = 0.5) -> None:
        self.a = a
        self.limit = limit

    def fit(self, X: Any, y: Any) -> Moody:  # noqa: ARG002
        if self.a > self.limit:
            raise ValueError("a is too large")
        self.classes_ = np.unique(y)
        return self

    def score(self, X: Any, y: Any) -> float:  # noqa: ARG002
        return -((self.a - 0.4) ** 2)


def moody(**options: Any) -> CCGBOSearchCV:
    return fitted(Moody(limit=options.pop("limit", 0.5)), {"a": stats.uniform(0, 1)}, n_iter=12, **options)


def test_a_candidate_that_fails_in_every_fold_does_not_end_the_search() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = moody(random_state=1)
    a, score = search.cv_results_["param_a"].astype(float), search.cv_results_["mean_test_score"]
    assert len(a) == 12
    assert 0 < np.isnan(score).sum() < 12
    assert np.array_equal(np.isnan(score), a > 0.5)
    assert {t.id for t in search.optimizer_.trials if t.state == "failed"} == set(np.flatnonzero(a > 0.5))
    assert [t.params["a"] for t in search.optimizer_.trials] == list(a)
    assert abs(search.best_params_["a"] - 0.4) < 0.05
    assert sum("non-finite" in str(w.message) for w in caught) == 1


def test_error_score_as_a_number_is_told_to_the_model() -> None:
    with pytest.warns(FitFailedWarning):
        search = moody(error_score=-1.0, random_state=1)
    assert [t.value for t in search.optimizer_.trials] == list(search.cv_results_["mean_test_score"])
    assert min(search.cv_results_["mean_test_score"]) == -1.0


def test_error_score_raise_raises_the_error_of_the_fit() -> None:
    with pytest.raises(ValueError, match="a is too large"):
        moody(error_score="raise", random_state=1)


def test_a_search_in_which_everything_fails_raises_as_randomized_search_does() -> None:
    with pytest.raises(ValueError, match="fits failed"):
        moody(limit=-1.0)


def test_failures_at_the_very_end_are_left_out_with_a_warning() -> None:
    space = Space({"a": Categorical([0.1, 0.9])})
    with pytest.warns(FitFailedWarning, match="cv_results_ leaves them out"):
        search = CCGBOSearchCV(Moody(), space, n_iter=2, cv=2, random_state=0).fit(X, y)
    assert search.cv_results_["params"] == [{"a": 0.1}]


# -- spaces


def test_every_way_to_write_a_space_is_understood() -> None:
    class OnlyRvs:
        def rvs(self, random_state: Any = None) -> float:  # noqa: ARG002
            return 0.0

    candidates = Candidates(
        {
            "uniform": stats.uniform(1.0, 2.0),
            "log": stats.loguniform(1e-3, 1e3),
            "whole": stats.randint(2, 9),
            "poisson": stats.poisson(4.0),
            "normal": stats.norm(5.0, 2.0),
            "beta": stats.beta(2.0, 3.0),
            "rising": [10, 20, 50],
            "mixed": [None, True, 1.5, "text"],
            "estimators": [StandardScaler(), PCA()],
            "array": np.array([3.0, 2.0, 1.0]),
            "own": Float(0.0, 1.0, step=0.25),
        }
    )
    expected = {
        "uniform": Float(1.0, 3.0),
        "log": Float(1e-3, 1e3, log=True),
        "whole": Int(2, 8),
        "poisson": Int(0, 11),
        "normal": Float(0.001, 0.999),
        "beta": Float(0.0, 1.0),
        "rising": Int(0, 2),
        "mixed": Categorical(range(4)),
        "estimators": Categorical(range(2)),
        "array": Int(0, 2),
        "own": Float(0.0, 1.0, step=0.25),
    }
    assert dict(candidates.space) == expected
    point = candidates.decode({"normal": 0.5, "rising": 2, "mixed": 1, "array": 0, "own": 0.5, "beta": 0.5})
    assert point == {
        "normal": pytest.approx(5.0),
        "rising": 50,
        "mixed": True,
        "array": 3.0,
        "own": 0.5,
        "beta": pytest.approx(stats.beta(2.0, 3.0).median()),
    }
    with pytest.raises(SettingError, match=r"param_distributions\['a'\] must have ppf and support, not rvs alone"):
        Candidates({"a": OnlyRvs()})


def test_a_list_of_dicts_searches_each_with_its_own_parameters() -> None:
    space = [
        {"kernel": ["linear"], "C": stats.loguniform(1e-2, 1e2)},
        {"kernel": ["rbf"], "C": stats.loguniform(1e-1, 1e1), "gamma": stats.loguniform(1e-3, 1e1)},
    ]
    search = fitted(space=space, n_iter=10)
    kernels = [p["kernel"] for p in search.cv_results_["params"]]
    assert set(kernels) == {"linear", "rbf"}
    assert [("gamma" in p) == (p["kernel"] == "rbf") for p in search.cv_results_["params"]] == [True] * 10
    assert list(search.cv_results_["param_gamma"].mask) == [kernel == "linear" for kernel in kernels]


def test_a_space_brings_its_conditions_and_constraints() -> None:
    space = Space(
        {
            "kernel": ["rbf", "poly"],
            "degree": Int(2, 4, active_if={"kernel": "poly"}),
            "C": Float(0.1, 10.0),
            "coef0": Float(0.0, 10.0),
        },
        constraints=LinearConstraint({"C": 1.0, "coef0": 1.0}, upper=6.0),
    )
    params = fitted(space=space, n_iter=10).cv_results_["params"]
    assert all(("degree" in p) == (p["kernel"] == "poly") for p in params)
    assert all(p["C"] + p["coef0"] <= 6.0 + 1e-9 for p in params)


def test_a_small_grid_is_searched_once_and_the_rest_of_n_iter_is_named_in_a_warning() -> None:
    with pytest.warns(UserWarning, match="n_iter=9 is more than the space has points, 4"):
        search = fitted(space={"C": [1.0, 10.0], "kernel": ["rbf", "linear"]})
    assert len(search.cv_results_["params"]) == 4
    assert len({tuple(p.values()) for p in search.cv_results_["params"]}) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_iter": 0}, "n_iter must be a whole number >= 1, got 0"),
        ({"batch_size": 0}, "batch_size must be None or a whole number >= 1, got 0"),
        ({"n_initial": 1.5}, "n_initial must be None or a whole number >= 1, got 1.5"),
        ({"space": []}, "param_distributions must be a non-empty dict"),
        ({"space": {"C": "rbf"}}, r"param_distributions\['C'\] must be a non-empty list or a distribution, got 'rbf'"),
        ({"space": {"C": []}}, r"param_distributions\['C'\] must be a non-empty list or a distribution, got \[\]"),
        ({"preset": "fast"}, "preset must be one of"),
        ({"settings": 3}, "settings must be None or a dict of fields of Settings, got 3"),
        ({"scoring": ["accuracy", "f1_macro"], "refit": False}, "refit must name the metric to search by"),
    ],
)
def test_a_wrong_argument_is_named_with_its_rule_and_value(options: dict[str, Any], message: str) -> None:
    space = options.pop("space", SVM)
    with pytest.raises(SettingError, match=message):
        CCGBOSearchCV(SVC(), space, cv=3, **options).fit(X, y)


def test_settings_and_the_size_of_the_initial_design_reach_the_engine() -> None:
    search = fitted(n_initial=4, settings={"credit": False, "acquisition": "ei"})
    assert [t.origin for t in search.optimizer_.trials] == ["design"] * 4 + ["model"] * 5
    assert search.optimizer_.settings.credit.strength == 0.0
    assert [t.origin for t in fitted().optimizer_.trials].count("design") == 3  # a third of n_iter
    asked = fitted(settings={"n_initial": 5})
    assert [t.origin for t in asked.optimizer_.trials].count("design") == 5


# -- callbacks


class Recorder:
    """A callback of scikit-learn that notes finished tasks, and may ask to stop."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.ended: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None: ...
    def teardown(self, estimator: Any, context: Any) -> None: ...
    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:  # noqa: ARG002
        self.ended.append(context.task_name)
        return self.stop_after is not None and self.ended.count("batch") >= self.stop_after


def test_callbacks_see_the_batches_and_the_evaluations() -> None:
    recorder = Recorder()
    CCGBOSearchCV(SVC(), SVM, n_iter=5, batch_size=2, cv=3, random_state=0).set_callbacks(recorder).fit(X, y)
    assert recorder.ended.count("batch") == 3
    assert recorder.ended.count("candidate-split-evaluation") == 15
    assert recorder.ended[-1] == "fit"


def test_a_callback_can_end_the_search() -> None:
    search = CCGBOSearchCV(SVC(), SVM, n_iter=50, cv=3, random_state=0).set_callbacks(Recorder(stop_after=4)).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(X).shape == y.shape


def test_callbacks_of_scikit_learn_run_inside_the_search() -> None:
    monitor = ScoringMonitor(scoring="accuracy")
    inner = LogisticRegression().set_callbacks(monitor)
    CCGBOSearchCV(inner, {"C": stats.loguniform(0.1, 10.0)}, n_iter=3, cv=2, random_state=0).fit(X, y)
    assert monitor.get_logs()


# -- the house rules


def test_without_scikit_learn_the_error_gives_the_pip_command_and_ccgbo_itself_never_loads_it() -> None:
    code = (
        "import sys, ccgbo; assert 'sklearn' not in sys.modules; sys.modules['sklearn'] = None\n"
        "try:\n    import ccgbo.integrations.sklearn\n"
        "except ccgbo.MissingExtraError as error:\n    print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'ccgbo[sklearn]'" in out.stdout, out.stderr


def test_the_page_runs() -> None:
    assert run_page("sklearn.md")["search"].best_score_ > 0.95


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run_example("sklearn_pipeline.py")
    assert "CCGBOSearchCV      cross-validated 0.9" in capsys.readouterr().out
