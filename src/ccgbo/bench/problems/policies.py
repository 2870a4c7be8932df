"""Linear policies of Gymnasium's robots: the action is a matrix times the observation, its entries are searched.

    problem         environment                               observations x actions   episodes   for
    LunarLander12   LunarLander-v3, continuous engines        6 x 2                    5          reporting
    Swimmer16       Swimmer-v5 (MuJoCo)                       8 x 2                    1          choosing
    Hopper33        Hopper-v5 (MuJoCo)                        11 x 3                   3          reporting

The lander is not shown whether its legs touch the ground. Entries are in [-1, 1], for the lander in [-2, 2]; actions
are clipped to what the environment allows. The value is the mean return over episodes that start from fixed seeds, so
that equal policies have equal values. No optimum is known; see best_known.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, box, need
from ccgbo.bench.problems.best_known import best_known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    environment: str
    module: str  # whose import tells whether the simulator is there
    observations: int  # the first of them are seen
    actions: int
    episodes: int
    reach: float
    options: tuple[tuple[str, Any], ...] = ()


TASKS = {
    "LunarLander12": _Task(
        environment="LunarLander-v3",
        module="gymnasium.envs.box2d",
        observations=6,
        actions=2,
        episodes=5,
        reach=2.0,
        options=(("continuous", True),),
    ),
    "Swimmer16": _Task(
        environment="Swimmer-v5", module="gymnasium.envs.mujoco", observations=8, actions=2, episodes=1, reach=1.0
    ),
    "Hopper33": _Task(
        environment="Hopper-v5", module="gymnasium.envs.mujoco", observations=11, actions=3, episodes=3, reach=1.0
    ),
}


def mean_return(matrix: Array, *, name: str) -> float:  # (actions, observations)
    """Of the episodes that every policy of a task plays."""
    task = TASKS[name]
    environment = need(name, "gymnasium").make(task.environment, **dict(task.options))
    try:
        return float(np.mean([_episode(environment, matrix, seed) for seed in range(task.episodes)]))
    finally:
        environment.close()


def _episode(environment: Any, matrix: Array, seed: int) -> float:
    seen, _ = environment.reset(seed=seed)
    low, high = environment.action_space.low, environment.action_space.high
    total, over = 0.0, False
    while not over:
        action = np.clip(matrix @ seen[: matrix.shape[1]], low, high).astype(environment.action_space.dtype)
        seen, reward, terminated, truncated, _ = environment.step(action)
        total += float(reward)
        over = terminated or truncated
    return total


def _values(X: Array, *, name: str) -> Array:
    shape = TASKS[name].actions, TASKS[name].observations
    return np.array([mean_return(x.reshape(shape), name=name) for x in X])


def _make(seed: int, *, name: str) -> Problem:
    """The same problem for every seed."""
    del seed
    task = TASKS[name]
    need(name, task.module)
    space = box(-task.reach, task.reach, task.actions * task.observations)
    return best_known(Problem(name=name, space=space, function=partial(_values, name=name), optimum=0.0))


CHOOSING: dict[str, Factory] = {"Swimmer16": partial(_make, name="Swimmer16")}
REPORTING: dict[str, Factory] = {name: partial(_make, name=name) for name in ("LunarLander12", "Hopper33")}
