"""What an acquisition function is, so that anybody can write one.

    Acquisition   settings; ``bind`` ties it to a posterior
    Score         the function itself: values and gradients at feature points, always to be maximised
    Scale         how a weight combines with it: "real" is shifted to be non-negative and multiplied, "nonnegative" is
                  multiplied as it is, "log" has the logarithm of the weight added

A user's own acquisition, complete:

    class ProbabilityOfImprovement:
        scale = "nonnegative"
        needs_optima = False

        def bind(self, context):
            return lambda x: norm_cdf((context.gp.predict(x)[0] - context.incumbent) / context.gp.predict(x)[1])

A bare function will do as a Score: without ``gradient`` the search takes central differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from ccgbo.credit.proxy import Optima
from ccgbo.surrogate.gp import GP
from ccgbo.validation import Like

Array = NDArray[np.float64]
Scale = Literal["real", "nonnegative", "log"]


@dataclass(frozen=True, slots=True)
class Context:
    """What an acquisition may look at."""

    gp: GP  # posterior, pending points included as fantasies
    incumbent: float  # best posterior mean at an observed point
    optima: Optima | None  # maxima of posterior paths, where the acquisition says it needs them
    rng: np.random.Generator
    n_features: int = 256  # random frequencies of a path
    t: int = 0  # iterations since the initial design


Score = Callable[[Array], Array]  # (m, p) -> (m,); may have .gradient: (m, p) -> (m,), (m, p)


class Acquisition(Protocol):
    """Settings of an acquisition function."""

    @property
    def scale(self) -> Scale: ...

    @property
    def needs_optima(self) -> bool: ...

    def bind(self, context: Context) -> Score: ...


def is_acquisition(thing: object) -> bool:
    """Whether a thing has what :class:`Acquisition` asks for; a class, which would still have to be called, has not."""
    if isinstance(thing, type):
        return False
    has_scale = getattr(thing, "scale", None) in get_args(Scale)
    return (
        has_scale and callable(getattr(thing, "bind", None)) and isinstance(getattr(thing, "needs_optima", None), bool)
    )


IS_ACQUISITION = Like(
    f"an acquisition: an object with .bind(context), .scale in {get_args(Scale)} and .needs_optima", is_acquisition
)


def value_and_gradient(score: Score, x: Array, *, step: float = 1e-5) -> tuple[Array, Array]:
    """(m,), (m, p): the score's own gradient, or central differences kept inside the unit box."""
    gradient = getattr(score, "gradient", None)
    if gradient is not None:
        return gradient(x)  # type: ignore[no-any-return]
    m, p = x.shape
    up, down = np.minimum(x + step, 1.0), np.maximum(x - step, 0.0)
    stacked = np.repeat(x[None], 2 * p, axis=0)  # (2p, m, p)
    for c in range(p):
        stacked[c, :, c] = up[:, c]
        stacked[p + c, :, c] = down[:, c]
    values = score(np.concatenate([x[None], stacked]).reshape(-1, p)).reshape(2 * p + 1, m)
    return values[0], ((values[1 : p + 1] - values[p + 1 :]) / (up - down).T).T
