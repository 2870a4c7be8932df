"""Formulas of the synthetic test functions as the literature states them, to be minimised unless noted.

Each maps rows (n, d) to values (n,). Sources: Surjanovic and Bingham, Virtual Library of Simulation Experiments
(sfu.ca/~ssurjano); Dixon and Szego 1978 for Branin, Hartmann and Shekel.
"""

# mypy: disable-error-code="no-any-return"
# NumPy types arithmetic between arrays of unknown shape as Any; every function here returns what its formula gives.

from __future__ import annotations

import math

import numpy as np

from ccgbo.arrays import Array

LANGERMANN_A = np.array([[3.0, 5.0], [5.0, 2.0], [2.0, 1.0], [1.0, 4.0], [7.0, 9.0]])
LANGERMANN_C = np.array([1.0, 2.0, 5.0, 2.0, 3.0])

HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN3_A = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
HARTMANN3_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
HARTMANN6_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)

SHEKEL_BETA = 0.1 * np.array([1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 3.0, 7.0, 5.0, 5.0])
SHEKEL_C = np.array(
    [[4, 4], [1, 1], [8, 8], [6, 6], [3, 7], [2, 9], [5, 3], [8, 1], [6, 2], [7, 3.6]]  # columns repeat: 4-d
)

SCHWEFEL_DEPTH = 418.982887272434  # max of x sin sqrt |x| on [-500, 500], rounded up


def langermann(X: Array) -> Array:
    """sum_i c_i exp(-|x - a_i|^2 / pi) cos(pi |x - a_i|^2)."""
    sq = ((X[:, None, :] - LANGERMANN_A) ** 2).sum(-1)  # (n, 5)
    return (np.exp(-sq / math.pi) * np.cos(math.pi * sq)) @ LANGERMANN_C


def hartmann(X: Array) -> Array:
    """-sum_i alpha_i exp(-sum_j A_ij (x_j - P_ij)^2), in 3, 4 (the first columns of 6) or 6 dimensions."""
    d = X.shape[1]
    A, P = (HARTMANN3_A, HARTMANN3_P) if d == 3 else (HARTMANN6_A[:, :d], HARTMANN6_P[:, :d])
    return -np.exp(-(A * (X[:, None, :] - P) ** 2).sum(-1)) @ HARTMANN_ALPHA


def griewank(X: Array) -> Array:
    """1 + sum x_j^2 / 4000 - prod cos(x_j / sqrt(j))."""
    j = np.arange(1, X.shape[1] + 1)
    return 1.0 + (X**2).sum(-1) / 4000.0 - np.cos(X / np.sqrt(j)).prod(-1)


def levy(X: Array) -> Array:
    """With w = 1 + (x - 1) / 4: a sine at both ends and a wavy bowl between; minimum 0 at ones."""
    W = 1.0 + (X - 1.0) / 4.0
    first = np.sin(math.pi * W[:, 0]) ** 2
    middle = ((W[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * W[:, :-1] + 1.0) ** 2)).sum(-1)
    last = (W[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * math.pi * W[:, -1]) ** 2)
    return first + middle + last


def rosenbrock(X: Array) -> Array:
    """sum 100 (x_{j+1} - x_j^2)^2 + (x_j - 1)^2."""
    return (100.0 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (X[:, :-1] - 1.0) ** 2).sum(-1)


def branin(X: Array) -> Array:
    """(x2 - 5.1 x1^2 / (4 pi^2) + 5 x1 / pi - 6)^2 + 10 (1 - 1/(8 pi)) cos x1 + 10."""
    x1, x2 = X.T
    valley = x2 - 5.1 / (4.0 * math.pi**2) * x1**2 + 5.0 / math.pi * x1 - 6.0
    return valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * np.cos(x1) + 10.0


def camel(X: Array) -> Array:
    """Six-hump camel back, x in [-3, 3] x [-2, 2]; minimum -1.0316 at +-(0.0898, -0.7126)."""
    x, z = X[:, 0], X[:, 1]
    return (4.0 - 2.1 * x**2 + x**4 / 3.0) * x**2 + x * z + 4.0 * (z**2 - 1.0) * z**2


def beale(X: Array) -> Array:
    """Beale, x in [-4.5, 4.5]^2; minimum 0 at (3, 0.5)."""
    x, z = X[:, 0], X[:, 1]
    return (1.5 - x + x * z) ** 2 + (2.25 - x + x * z**2) ** 2 + (2.625 - x + x * z**3) ** 2


def ackley(X: Array) -> Array:
    """-20 exp(-0.2 rms(x)) - exp(mean cos 2 pi x) + 20 + e."""
    rms = np.sqrt((X**2).mean(-1))
    return -20.0 * np.exp(-0.2 * rms) - np.exp(np.cos(2.0 * math.pi * X).mean(-1)) + 20.0 + math.e


def michalewicz(X: Array) -> Array:
    """-sum sin(x_j) sin(j x_j^2 / pi)^20."""
    j = np.arange(1, X.shape[1] + 1)
    return -(np.sin(X) * np.sin(j * X**2 / math.pi) ** 20).sum(-1)


def styblinski_tang(X: Array) -> Array:
    """sum (x^4 - 16 x^2 + 5 x) / 2."""
    return 0.5 * (X**4 - 16.0 * X**2 + 5.0 * X).sum(-1)


def rastrigin(X: Array) -> Array:
    """10 d + sum x^2 - 10 cos 2 pi x."""
    return 10.0 * X.shape[1] + (X**2 - 10.0 * np.cos(2.0 * math.pi * X)).sum(-1)


def schwefel(X: Array) -> Array:
    """sum 418.98 - x sin sqrt |x|, x in [-500, 500]^d: of many wells the deepest is near a corner; minimum 0."""
    return (SCHWEFEL_DEPTH - X * np.sin(np.sqrt(np.abs(X)))).sum(-1)


def dixon_price(X: Array) -> Array:
    """(x_1 - 1)^2 + sum_{j > 1} j (2 x_j^2 - x_{j-1})^2; minimum 0 at x_j = 2^(2^(1 - j) - 1)."""
    j = np.arange(2, X.shape[1] + 1)
    return (X[:, 0] - 1.0) ** 2 + (j * (2.0 * X[:, 1:] ** 2 - X[:, :-1]) ** 2).sum(-1)


def zakharov(X: Array) -> Array:
    """|x|^2 + s^2 + s^4 with s = sum j x_j / 2; minimum 0 at zero."""
    s = 0.5 * (X * np.arange(1, X.shape[1] + 1)).sum(-1)
    return (X**2).sum(-1) + s**2 + s**4


def shekel(X: Array) -> Array:
    """-sum_i 1 / (|x - c_i|^2 + beta_i) with ten wells in four dimensions."""
    sq = ((X[:, None, :] - np.tile(SHEKEL_C, 2)) ** 2).sum(-1)
    return -(1.0 / (sq + SHEKEL_BETA)).sum(-1)


def colville(X: Array) -> Array:
    """A curved valley in four dimensions; minimum 0 at ones."""
    x1, x2, x3, x4 = X.T
    valleys = 100.0 * (x1**2 - x2) ** 2 + (x1 - 1.0) ** 2 + (x3 - 1.0) ** 2 + 90.0 * (x3**2 - x4) ** 2
    return valleys + 10.1 * ((x2 - 1.0) ** 2 + (x4 - 1.0) ** 2) + 19.8 * (x2 - 1.0) * (x4 - 1.0)


def forrester(X: Array) -> Array:
    """(6 x - 2)^2 sin(12 x - 4) in one dimension, x in [0, 1]."""
    x = X[:, 0]
    return (6.0 * x - 2.0) ** 2 * np.sin(12.0 * x - 4.0)


def goldstein_price(X: Array) -> Array:
    """Six orders of magnitude over [-2, 2]^2; minimum 3 at (0, -1)."""
    x, z = X.T
    first = 19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * z + 6.0 * x * z + 3.0 * z**2
    second = 18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * z - 36.0 * x * z + 27.0 * z**2
    return (1.0 + (x + z + 1.0) ** 2 * first) * (30.0 + (2.0 * x - 3.0 * z) ** 2 * second)


def ishigami(X: Array) -> Array:
    """sin x1 + 7 sin(x2)^2 + 0.1 x3^4 sin x1, x in [-pi, pi]^3."""
    x1, x2, x3 = X.T
    return np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)


def dette_pepelyshev(X: Array) -> Array:
    """A curved function of eight inputs in [0, 1], the later ones of ever less weight."""
    x1, x2, x3 = X[:, 0], X[:, 1], X[:, 2]
    curved = 4.0 * (x1 - 2.0 + 8.0 * x2 - 8.0 * x2**2) ** 2 + (3.0 - 4.0 * x2) ** 2
    curved = curved + 16.0 * np.sqrt(x3 + 1.0) * (2.0 * x3 - 1.0) ** 2
    return curved + np.log1p(np.cumsum(X[:, 2:], axis=1)[:, 1:]) @ np.arange(4.0, 9.0)


def welch(X: Array) -> Array:
    """Twenty inputs in [-1/2, 1/2], a few of which matter much and two not at all."""
    x = np.column_stack([np.zeros(len(X)), X]).T  # numbered from 1, as stated
    curved = 5.0 * x[12] / (1.0 + x[1]) + 5.0 * (x[4] - x[20]) ** 2 + 40.0 * x[19] ** 3 + 0.25 * x[13] ** 2
    weights = {2: 0.05, 3: 0.08, 5: 1.0, 6: -0.03, 7: 0.03, 9: -0.09, 10: -0.01, 11: -0.07}
    weights |= {14: -0.04, 15: 0.06, 17: -0.01, 18: -0.03, 19: -5.0}
    return curved + sum(w * x[j] for j, w in weights.items())


def currin(X: Array) -> Array:
    """An exponential and a ratio of polynomials of two inputs in [0, 1], steep at the edge x2 = 0."""
    x1, x2 = X[:, 0], X[:, 1]
    with np.errstate(divide="ignore"):
        decay = 1.0 - np.exp(-0.5 / x2)
    above = 2300.0 * x1**3 + 1900.0 * x1**2 + 2092.0 * x1 + 60.0
    return decay * above / (100.0 * x1**3 + 500.0 * x1**2 + 4.0 * x1 + 20.0)


def park(X: Array) -> Array:
    """Four inputs in [0, 1], largest in a corner; multiplied out so that x1 = 0 needs no case."""
    x1, x2, x3, x4 = X.T
    root = np.sqrt(x1**2 + (x2 + x3**2) * x4)
    return 0.5 * (root - x1) + (x1 + 3.0 * x4) * np.exp(1.0 + np.sin(x3))


def friedman(X: Array) -> Array:
    """Five inputs in [0, 1]: a ridge in two of them, a parabola and two slopes."""
    x1, x2, x3, x4, x5 = X.T
    return 10.0 * np.sin(np.pi * x1 * x2) + 20.0 * (x3 - 0.5) ** 2 + 10.0 * x4 + 5.0 * x5


def loeppky(X: Array) -> Array:
    """Seven inputs in [0, 1]: slopes and products, the later inputs of ever less weight."""
    x1, x2, x3 = X[:, 0], X[:, 1], X[:, 2]
    products = 3.0 * x1 * x2 + 2.2 * x1 * x3 + 1.4 * x2 * x3
    return X @ np.array([6.0, 4.0, 5.5, 1.0, 0.5, 0.2, 0.1]) + products
