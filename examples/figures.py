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
    with viz.style("column"):  # the same for one column of a journal
        save("map_column", viz.plot_map(opt, "rate", "dropout", layer="credit"))
    print(f"figures are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("figures"))
