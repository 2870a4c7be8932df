"""Priors of hyperparameters, and what each is a density of.

A fit searches over theta = log v and maximises log p(y | theta) + log density. A normal distribution of log v has two
densities, which have different modes:

    class           density of    log density at v                            its mode
    NormalOnLog     log v         -(log v - mean)^2 / (2 sd^2)                exp(mean)
    LogNormal       v             -(log v - mean)^2 / (2 sd^2) - log v        exp(mean - sd^2)

and likewise ``NormalOnLogLengthscales`` and ``LogNormalLengthscales``. The class says which one the fit maximises; a
prior from the literature has to be the one that its source maximises. BoTorch and Hvarfner et al. 2024 have the second;
the priors of the default preset are our own and of the first kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.validation import Above, AtLeast, AtMost, Validated


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalOnLog(Validated):
    """Normal density of the logarithm of a variance; a fit maximises this density of log v, largest at exp(mean)."""

    mean: Annotated[float, AtLeast(-100), AtMost(100)]
    """Mean of the natural logarithm of the variance."""
    sd: Annotated[float, AtLeast(0.001), AtMost(1000)]
    """Standard deviation of that logarithm."""
    least: Annotated[float, AtLeast(0), AtMost(1)] = 0.0
    """The smallest variance that it allows; 0 leaves it to the fit."""

    @property
    def log_mode(self) -> float:
        """log v where the density is largest."""
        return self.mean

    def neg_log_density(self, log_v: float) -> tuple[float, float]:
        """-log density up to a constant, and its derivative by log v."""
        delta = (log_v - self.mean) / self.sd
        return 0.5 * delta * delta, delta / self.sd


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal(Validated):
    """Log-normal density of a variance itself; a fit maximises this density of v, largest at exp(mean - sd^2)."""

    mean: Annotated[float, AtLeast(-100), AtMost(100)]
    """Mean of the natural logarithm of the variance."""
    sd: Annotated[float, AtLeast(0.001), AtMost(1000)]
    """Standard deviation of that logarithm."""
    least: Annotated[float, AtLeast(0), AtMost(1)] = 0.0
    """The smallest variance that it allows."""

    @property
    def log_mode(self) -> float:
        """log v where the density is largest."""
        return self.mean - self.sd**2

    def neg_log_density(self, log_v: float) -> tuple[float, float]:
        """-log density up to a constant, and its derivative by log v."""
        delta = (log_v - self.mean) / self.sd
        return 0.5 * delta * delta + log_v, delta / self.sd + 1.0


VariancePrior = NormalOnLog | LogNormal


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NormalOnLogLengthscales(Validated):
    """Exchangeable normal density of the log-lengthscales: a shared level plus one deviation per parameter.

        log l_k = level + deviation_k
        level ~ N(offset + scale * log d, shared_sd^2),   deviation_k ~ N(0, sd_k^2)

    with sd_k = each_sd for a number and choice_sd for a categorical, whose choices may differ much or not at all
    whatever the numbers do. Over a trend, which has the common shape already, the numbers are let go: trend_sd instead
    of each_sd. A fit maximises this density of the logarithms, largest where every log-lengthscale is the mean of the
    level. The covariance diag(sd^2) + shared^2 1 1^T has a rank-one inverse (Sherman-Morrison), so it costs nothing.
    """

    offset: Annotated[float, AtLeast(-100), AtMost(100)] = -0.7
    """Mean of the shared level in one dimension."""
    scale: Annotated[float, AtLeast(-10), AtMost(10)] = 0.5
    """Growth of that mean with the logarithm of the number of parameters d."""
    shared_sd: Annotated[float, AtLeast(0), AtMost(1000)] = 1.0
    """Standard deviation of the shared level; 0 makes the lengthscales independent."""
    each_sd: Annotated[float, AtLeast(0.001), AtMost(1000)] = 0.3
    """Standard deviation of the deviation of a number."""
    trend_sd: Annotated[float, AtLeast(0.001), AtMost(1000)] = 1.0
    """The same over a trend, instead of ``each_sd``."""
    choice_sd: Annotated[float, AtLeast(0.001), AtMost(1000)] = 1.0
    """The same of a categorical."""

    @property
    def least(self) -> float:
        """The smallest lengthscale that it allows."""
        return 0.0

    def log_mode(self, d: int) -> float:
        """The log-lengthscale where the density is largest."""
        return self.offset + self.scale * math.log(max(d, 1))

    def neg_log_density(self, log_l: Array, choice: NDArray[np.bool_], *, trend: bool) -> tuple[float, Array]:
        """-log density up to a constant, and its gradient by log l; ``choice`` marks the categoricals."""
        precision = np.where(choice, self.choice_sd, self.trend_sd if trend else self.each_sd) ** -2.0
        scaled = precision * (log_l - self.log_mode(len(log_l)))
        shared = self.shared_sd**2
        gradient = scaled - shared * scaled.sum() / (1.0 + shared * precision.sum()) * precision
        return 0.5 * float((log_l - self.log_mode(len(log_l))) @ gradient), gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormalLengthscales(Validated):
    """Independent log-normal density of each lengthscale itself, which grows with the dimension d.

        l_k ~ LogNormal(offset + scale * log d, sd^2)

    A fit maximises this density of l_k, largest at exp(offset - sd^2) d^scale. What is not given is the prior of
    Hvarfner et al. 2024 as BoTorch's SingleTaskGP has it, with the mode at 0.2 sqrt(d).
    """

    offset: Annotated[float, AtLeast(-100), AtMost(100)] = math.sqrt(2.0)
    """Mean of the natural logarithm of a lengthscale in one dimension."""
    scale: Annotated[float, AtLeast(-10), AtMost(10)] = 0.5
    """Growth of that mean with the logarithm of the number of parameters d."""
    sd: Annotated[float, AtLeast(0.001), AtMost(1000)] = math.sqrt(3.0)
    """Standard deviation of the logarithm."""
    least: Annotated[float, Above(0), AtMost(1)] = 0.025
    """The smallest lengthscale that it allows."""

    def log_mode(self, d: int) -> float:
        """The log-lengthscale where the density is largest."""
        return self.offset + self.scale * math.log(max(d, 1)) - self.sd**2

    def neg_log_density(self, log_l: Array, choice: NDArray[np.bool_], *, trend: bool) -> tuple[float, Array]:  # noqa: ARG002 - one signature for every prior
        """-log density up to a constant, and its gradient by log l; a categorical is as any other."""
        delta = (log_l - self.offset - self.scale * math.log(max(len(log_l), 1))) / self.sd
        return float(0.5 * (delta @ delta) + log_l.sum()), delta / self.sd + 1.0


LengthscalePrior = NormalOnLogLengthscales | LogNormalLengthscales

# of the default preset
LENGTHSCALES = NormalOnLogLengthscales()
NOISE = NormalOnLog(mean=-5.0, sd=2.0)
SIGNAL = NormalOnLog(mean=0.0, sd=1.0)
TREND = NormalOnLog(mean=-1.0, sd=1.5)

BOUNDED_NOISE = NormalOnLog(mean=-10.0, sd=3.0, least=1e-10)
"""The noise of one objective and of what must keep its bounds: an optimum on their edge needs it to many digits."""

MANY_LENGTHSCALES = NormalOnLogLengthscales(offset=math.log(0.2), shared_sd=0.5, each_sd=0.5)
"""Of many parameters: around the mode of Hvarfner's prior, 0.2 sqrt(d), but a third as wide about a shared level."""

HVARFNER = LogNormalLengthscales()
"""The dimension-scaled prior of Hvarfner et al. 2024."""
HVARFNER_NOISE = LogNormal(mean=-4.0, sd=1.0, least=1e-4)
"""The noise that goes with it in BoTorch."""
