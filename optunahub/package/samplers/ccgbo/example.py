import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    return (y - 0.129 * x**2 + 1.6 * x - 6.0) ** 2 + (x - 3.0) ** 2


if __name__ == "__main__":
    module = optunahub.load_module("samplers/ccgbo")
    study = optuna.create_study(sampler=module.CCGBOSampler(seed=0))
    study.optimize(objective, n_trials=30)
    print(study.best_value, study.best_params)
