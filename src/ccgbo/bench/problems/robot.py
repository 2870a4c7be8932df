"""Robot4: a robot hand pushes a disc on a table towards a goal (Kaelbling and Lozano-Perez 2017; Box2D).

The hand starts at (rx, ry) with a given angle, drives towards the origin, where the disc lies, for int(10 * steps)
time steps of 1/100 s, and both then coast for 100 more. The value is minus the distance of the disc to the goal. The
goal is drawn uniformly from [-5, 5]^2 per seed; the optimum is taken as 0.

A hand that starts exactly on the disc's centre (rx = ry = 0) has no direction to drive in and is not driven; the two
bodies overlap there, and Box2D pushes them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ccgbo.bench.problems.base import Factory, Problem, need, row_by_row
from ccgbo.space import Float, Space

SPACE = Space(
    {
        "rx": Float(-5.0, 5.0),
        "ry": Float(-5.0, 5.0),
        "angle": Float(0.0, 2.0 * math.pi),
        "steps": Float(1.0, 30.0),
    }
)
TIME_STEP, ITERATIONS, COASTING_STEPS = 0.01, 10, 100
SPEED, GAIN = 10.0, 30.0  # desired speed of the hand, and force per unit of mass and of missing velocity


def push(rx: float, ry: float, angle: float, steps: float) -> tuple[float, float]:
    """Where the disc comes to rest."""
    box2d = need("Robot4", "Box2D")
    world = box2d.b2World(gravity=(0.0, 0.0), doSleep=True)
    table = world.CreateStaticBody(position=(0.0, 0.0))
    disc = world.CreateDynamicBody(
        position=(0.0, 0.0),
        fixtures=box2d.b2FixtureDef(shape=box2d.b2CircleShape(radius=1.0), density=0.05, friction=0.01),
    )
    hand = world.CreateDynamicBody(
        position=(rx, ry),
        angle=angle,
        fixtures=box2d.b2FixtureDef(shape=box2d.b2PolygonShape(box=(0.3, 1.0)), density=0.1, friction=0.1),
    )
    world.CreateFrictionJoint(bodyA=table, bodyB=disc, maxForce=5.0, maxTorque=2.0)
    world.CreateFrictionJoint(bodyA=table, bodyB=hand, maxForce=2.0, maxTorque=2.0)

    distance = math.hypot(rx, ry)
    vx, vy = (-SPEED * rx / distance, -SPEED * ry / distance) if distance > 0.0 else (0.0, 0.0)
    gain = hand.mass * GAIN
    for _ in range(int(10 * steps)):
        velocity = hand.linearVelocity
        hand.ApplyTorque(-gain * hand.angularVelocity, wake=True)
        hand.ApplyForce((gain * (vx - velocity.x), gain * (vy - velocity.y)), hand.position, wake=True)
        world.Step(TIME_STEP, ITERATIONS, ITERATIONS)
        world.ClearForces()
    for _ in range(COASTING_STEPS):
        world.Step(TIME_STEP, ITERATIONS, ITERATIONS)
    return float(disc.position.x), float(disc.position.y)


def _minus_distance(params: Mapping[str, Any], *, goal: tuple[float, float]) -> float:
    x, y = push(params["rx"], params["ry"], params["angle"], params["steps"])
    return -math.hypot(x - goal[0], y - goal[1])


def goal_of(seed: int) -> tuple[float, float]:
    gx, gy = np.random.default_rng([seed, 70457]).uniform(-5.0, 5.0, 2)  # apart from designs and noise
    return float(gx), float(gy)


def robot4(seed: int) -> Problem:
    need("Robot4", "Box2D")
    point = partial(_minus_distance, goal=goal_of(seed))
    return Problem(name="Robot4", space=SPACE, function=row_by_row(SPACE, point), optimum=0.0, noise_std=0.1)


PAPER: dict[str, Factory] = {"Robot4": robot4}
