"""Every figure of ccgbo.viz, saved to a folder: python examples/figures.py [folder]"""

import math
import sys
from pathlib import Path

import numpy as np

import ccgbo
from ccgbo import viz

SPACE = {
    "rate": ccgbo.Float(1e-5, 1.0, log=True),
    "dropout": (0.0, 0.6),
    "layers": (1, 8),
    "activation": ["relu", "tanh", "gelu"],
}


def accuracy(rate: float, dropout: float, layers: int, activation: str) -> float:
    """A stand-in for a training run: best near rate 0.003, dropout 0.2, three layers, gelu."""
    hill = math.exp(-(((math.log10(rate) + 2.5) / 0.8) ** 2))
    shape = 1.0 - 1.5 * (dropout - 0.2) ** 2 - 0.04 * abs(layers - 3)
    return 0.5 + 0.45 * hill * shape + {"relu": 0.01, "tanh": -0.03, "gelu": 0.02}[activation]


def train(seed: int, **settings: object) -> ccgbo.Optimizer:
    opt = ccgbo.Optimizer(SPACE, seed=seed, **settings)
    noise = np.random.default_rng(seed)
    for _ in range(50):
        trial = opt.ask()
        opt.tell(trial, accuracy(**trial.params) + 0.003 * noise.standard_normal())
    return opt


def reaction(temperature: float, time: float, solvent: str) -> dict[str, float]:
    """A stand-in for a day in the lab: hot and long gives more, costs more, and is impure in the end."""
    rate = math.exp((temperature - 90.0) / 25.0) * (1.0 if solvent == "toluene" else 0.75)
    done = 1.0 - math.exp(-rate * time / 6.0)
    return {
        "yield": 95.0 * done - 8.0 * max(rate * time / 6.0 - 1.5, 0.0),
        "cost": 2.0 + 0.25 * time + 0.02 * (temperature - 40.0) + (0.8 if solvent == "toluene" else 0.3),
        "impurity": 0.004 * rate * time + (0.004 if solvent == "toluene" else 0.0),
    }


def experiment(seed: int) -> ccgbo.Optimizer:
    opt = ccgbo.Optimizer(
        {"temperature": (40.0, 120.0), "time": (1.0, 12.0), "solvent": ["toluene", "ethanol"]},
        objectives={"yield": "maximize", "cost": "minimize"},
        outcome_constraints={"impurity": ccgbo.AtMost(0.03)},
        seed=seed,
    )
    noise = np.random.default_rng(seed)
    for _ in range(30):
        trial = opt.ask()
        found = reaction(**trial.params)
        opt.tell(trial, {name: value * (1.0 + 0.015 * noise.standard_normal()) for name, value in found.items()})
    return opt


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    opt = train(seed=0)
    runs = {"with credit": opt, "without": train(seed=0, credit=False)}  # a list of runs shows their mean and its error

    def save(name: str, axes: object) -> None:
        np.ravel(axes)[0].figure.savefig(folder / f"{name}.png", dpi=120)

    with viz.style("page"):
        save("illustration", viz.plot_illustration())
        save("six_steps", viz.plot_six_steps())
        save("progress", viz.plot_progress(opt))
        save("regret", viz.plot_regret(runs, optimum=0.97))
        save("parallel", viz.plot_parallel(opt))
        save("maps", viz.plot_maps(opt, "rate", "dropout"))
        save("slices", viz.plot_slices(opt, ["rate", "dropout", "activation"]))
        save("credit_over_time", viz.plot_credit_over_time(opt))
        save("importance", viz.plot_importance(opt))
    lab = experiment(seed=0)
    with viz.style("page"):  # two objectives and a bound
        save("front", viz.plot_front(lab))
        save("hypervolume", viz.plot_hypervolume(lab))
        save("feasibility", viz.plot_map(lab, "temperature", "time", layer="feasibility"))
        save("slices_impurity", viz.plot_slices(lab, ["temperature", "time"], metric="impurity"))
        save("parallel_metrics", viz.plot_parallel(lab))
    with viz.style("column"):  # the same for one column of a journal
        save("map_column", viz.plot_map(opt, "rate", "dropout", layer="credit"))
    print(f"figures are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("figures"))
