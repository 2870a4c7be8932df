"""An Optuna study in a SQLite file, with CCGBOSampler. Run it twice: the second run resumes the first."""

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ccgbo.integrations.optuna import CCGBOSampler

X, y = load_breast_cancer(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    kernel = trial.suggest_categorical("kernel", ["rbf", "sigmoid"])
    C = trial.suggest_float("C", 1e-3, 1e3, log=True)
    gamma = trial.suggest_float("gamma", 1e-5, 1e1, log=True)
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel, C=C, gamma=gamma))
    return cross_val_score(model, X, y, cv=3).mean()


storage = optuna.storages.RDBStorage("sqlite:///svm.db")
sampler = CCGBOSampler(seed=0, storage=storage)  # storage: so that each trial's credit is stored with it
study = optuna.create_study(
    study_name="svm", storage=storage, sampler=sampler, direction="maximize", load_if_exists=True
)
study.optimize(objective, n_trials=20)

print(f"{len(study.trials)} trials, best accuracy {study.best_value:.4f} with {study.best_params}")
for number, credit in sorted(sampler.credits(study).items(), key=lambda item: -item[1])[:3]:
    print(f"credit {credit:.2f}: trial {number} {study.trials[number].params}")
