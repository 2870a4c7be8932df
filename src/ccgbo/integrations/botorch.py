"""Counterfactual credit for BoTorch: a weight on any acquisition function.

    b  t-batch, q  points of one batch, m  candidates, n  observations, d  inputs, k  posterior paths

``CreditWeightedAcquisitionFunction`` computes, once, when it is made:

    Z         mean over k paths of their maxima     BoTorch's pathwise samplers; joint draws where it has none
    P_j       or the front of each joint draw       where the model has several outputs, see _botorch_outputs.py
    c_i       credit of each training input         ``ccgbo.credit.scores.score`` on BoTorch's posterior
    pi(x)     kNN or smooth field of the credits    in the unit cube of ``bounds``
    factor    (1 - lambda) + lambda pi(x)^e         e = tau / (1 + t / M)

and then evaluates, by the codomain of the acquisition,

    "log"           alpha(x) + log factor(x)
    "nonnegative"   factor(x) * alpha(x)
    "real"          factor(x) * (alpha(x) - min alpha)     the minimum is over the candidates

For q > 1 every point of the batch has its own factor, applied to each sample before the maximum over the batch is
taken, as BoTorch's own prior-guided wrapper does. Where credit says nothing the result is the acquisition itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ccgbo.acquisition.base import Codomain
from ccgbo.credit.field import CreditSettings, exponent
from ccgbo.credit.scores import Scores
from ccgbo.engine.settings import DEFAULT, at_every_turn
from ccgbo.engine.state import iteration_of
from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.tuning import EngineTuning
from ccgbo.validation import check, optional_whole_number

try:
    import torch
    from botorch.acquisition import analytic, monte_carlo
    from botorch.acquisition.acquisition import AcquisitionFunction, OneShotAcquisitionFunction
    from botorch.acquisition.input_constructors import acqf_input_constructor
    from botorch.acquisition.joint_entropy_search import qJointEntropySearch
    from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.monte_carlo import (
        qExpectedHypervolumeImprovement,
        qNoisyExpectedHypervolumeImprovement,
    )
    from botorch.models.model import Model
    from botorch.utils.sampling import draw_sobol_samples, manual_seed
    from botorch.utils.transforms import is_ensemble, match_batch_shape, t_batch_mode_transform
    from torch import Tensor

    from ccgbo.integrations._botorch_bridge import CoreModel, from_botorch, to_botorch
    from ccgbo.integrations._botorch_inputs import construct_inputs_credit_weighted
    from ccgbo.integrations._botorch_model import KNNField, Outcome, SmoothField, kernel_of
    from ccgbo.integrations._botorch_outputs import Outputs
except ImportError as error:
    raise MissingExtraError("ccgbo.integrations.botorch", "botorch") from error

__all__ = ["CoreModel", "CreditWeightedAcquisitionFunction", "from_botorch", "to_botorch"]

N_CANDIDATES = 512

NONNEGATIVE = (
    analytic.ExpectedImprovement,
    analytic.ConstrainedExpectedImprovement,
    analytic.ProbabilityOfImprovement,
    analytic.qAnalyticProbabilityOfImprovement,
    analytic.PosteriorStandardDeviation,
    monte_carlo.qExpectedImprovement,
    monte_carlo.qNoisyExpectedImprovement,
    monte_carlo.qProbabilityOfImprovement,
    monte_carlo.qPosteriorStandardDeviation,
    qJointEntropySearch,
    qMaxValueEntropy,
    ExpectedHypervolumeImprovement,
    qExpectedHypervolumeImprovement,
    qNoisyExpectedHypervolumeImprovement,
)


class CreditWeightedAcquisitionFunction(AcquisitionFunction):
    """Any analytic or Monte Carlo acquisition of a single-output model, and hypervolume or constrained expected
    improvement of several outputs, weighted by counterfactual credit.

    >>> credit = CreditWeightedAcquisitionFunction(LogExpectedImprovement(model, best_f), bounds, t=3)
    >>> candidate, value = optimize_acqf(credit, bounds, q=1, num_restarts=5, raw_samples=128)
    """

    candidates: Tensor  # m x d
    shift: Tensor  # min alpha over them, for codomain="real" only

    def __init__(
        self,
        acq_function: AcquisitionFunction,
        bounds: Tensor,  # 2 x d
        *,
        t: int | None = None,  # the iteration; None: observations beyond an initial design of max(2 d, 10)
        settings: CreditSettings | None = None,  # None: of preset="default", with a smooth field where the model allows
        tuning: EngineTuning | None = None,  # None: of preset="default"
        codomain: Codomain | None = None,  # None: told by the class of the acquisition
        model: Model | None = None,  # gives the credits; None: the acquisition's
        candidates: Tensor | None = None,  # m x d; None: Sobol points in the bounds
        X_observed: Tensor | None = None,  # n x d; None: the model's training inputs
        X_pending: Tensor | None = None,
        seed: int | None = None,  # of candidates and paths; None: torch's global generator
    ) -> None:
        model = _checked_model(acq_function, model)
        if codomain not in (None, "real", "nonnegative", "log"):
            raise SettingError(f"codomain must be None, 'real', 'nonnegative' or 'log', got {codomain!r}.")
        t, seed = (optional_whole_number(name, n, at_least=0) for name, n in (("t", t), ("seed", seed)))
        settings = check("settings", settings, CreditSettings | None)
        tuning = check("tuning", tuning, EngineTuning | None) or DEFAULT.tuning
        if settings is not None and settings.field not in ("knn", "smooth"):
            raise SettingError(f"settings.field must be 'knn' or 'smooth' for BoTorch, got {settings.field!r}.")
        super().__init__(model=acq_function.model)
        self.acq_func: Any = acq_function
        self.settings = at_every_turn(settings) if settings is not None else _default_settings(model)
        self.codomain: Codomain = codomain if codomain is not None else codomain_of(acq_function)
        self._log = self.codomain == "log"
        self._sample_reducing = isinstance(acq_function, monte_carlo.SampleReducingMCAcquisitionFunction)
        if X_pending is not None:
            acq_function.set_X_pending(X_pending)
        outcome = Outcome(model, acq_function) if model.num_outputs == 1 else Outputs.of(model, acq_function)
        X = outcome.train_inputs() if X_observed is None else X_observed.detach()
        bounds = _checked_bounds(bounds, X.shape[-1]).to(X)
        _check_candidates(candidates, X.shape[-1])
        with manual_seed(seed), torch.no_grad():
            if candidates is None:
                seed = int(torch.randint(2**31, (1,)))
                candidates = draw_sobol_samples(bounds, n=N_CANDIDATES, q=1, seed=seed).squeeze(-2)
            candidates = candidates.to(X)
            found = outcome.credit(X, candidates, bounds, self.settings, tuning)
        self.scores: Scores = found.scores
        self.proxy = found.proxy  # Z_t; NaN of a front
        self.fronts = found.fronts  # of each draw, where there are several objectives
        self.t = t if t is not None else iteration_of(["complete"] * len(X), DEFAULT.initial_size(X.shape[-1]))
        self._power = exponent(self.t, self.settings.tau, self.settings.half_life)
        self.field = self._make_field(model, X, bounds)
        self.register_buffer("candidates", candidates)
        self.register_buffer("shift", self._least())

    @property
    def credit(self) -> Tensor:  # (n,)
        """c_i of each observation."""
        return torch.as_tensor(self.scores.credit)

    def _make_field(self, model: Model, X: Tensor, bounds: Tensor) -> torch.nn.Module | None:
        """pi(x), or None where the factor would be one everywhere."""
        s = self.settings
        if s.strength == 0.0 or s.tau == 0.0 or len(X) < s.n_neighbours or not self.scores.informative:
            return None
        share = torch.as_tensor(self.scores.credit / self.scores.credit.max()).to(X)
        if s.field == "knn":
            return KNNField(X, share, bounds, s.n_neighbours)
        return SmoothField(model, X, share)

    def _least(self) -> Tensor:
        """min alpha over the candidates, for codomain="real" only."""
        if self.codomain != "real" or self.field is None:
            return self.candidates.new_zeros(())
        acqf = self.acq_func
        single = (lambda x: self._reduce(acqf._non_reduced_forward(x))) if self._sample_reducing else acqf
        with torch.no_grad():
            alpha = torch.cat([single(part) for part in torch.split(self.candidates.unsqueeze(-2), 256)])
        return alpha[alpha.isfinite()].min()

    def _reduce(self, values: Tensor) -> Tensor:  # samples x b x q -> b
        reduced: Tensor = self.acq_func._sample_reduction(self.acq_func._q_reduction(values))
        return reduced

    # -- pending points live in the wrapped acquisition, which knows what to do with them

    @property  # type: ignore[override]
    def X_pending(self) -> Tensor | None:
        return getattr(self.acq_func, "X_pending", None)

    @X_pending.setter
    def X_pending(self, X_pending: Tensor | None) -> None:
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        """Points under evaluation; analytic acquisitions refuse them, as they do without credit."""
        self.acq_func.set_X_pending(X_pending)
        self.shift = self._least()

    # -- evaluation

    def weight(self, X: Tensor) -> Tensor:  # ... x d -> ...
        """w_t(x) of every point."""
        if self.field is None:
            return torch.ones_like(X[..., 0])
        result: Tensor = self.field(X) ** self._power
        return result

    def factor(self, X: Tensor) -> Tensor:  # ... x d -> ...
        """(1 - lambda) + lambda w_t(x) of every point."""
        if self.field is None:
            return torch.ones_like(X[..., 0])
        return (1.0 - self.settings.strength) + self.settings.strength * self.weight(X)

    @t_batch_mode_transform()  # type: ignore[arg-type]
    def forward(self, X: Tensor) -> Tensor:  # b x q x d -> b
        """The weighted acquisition of each batch."""
        if self.field is None:
            plain: Tensor = self.acq_func(X)
            return plain
        pending = self.X_pending if self._sample_reducing else None
        if pending is not None:
            X = torch.cat([X, match_batch_shape(pending, X)], dim=-2)
        if X.shape[-2] == 1:
            return self._combine(self.acq_func(X), self.factor(X).squeeze(-1))
        if not self._sample_reducing:
            raise UnsupportedError(
                f"q must be 1 for {type(self.acq_func).__name__}, got {X.shape[-2]}; "
                "only acquisitions that reduce over samples take a weight for each point of a batch."
            )
        factor = self.factor(X)
        if is_ensemble(self.model):
            factor = factor.unsqueeze(-2)
        values = self._combine(self.acq_func._non_reduced_forward(X), factor)  # samples x b x q
        return self._reduce(values)

    def _combine(self, alpha: Tensor, factor: Tensor) -> Tensor:
        if self.codomain == "log":
            return alpha + factor.log()
        surplus = alpha - self.shift
        return torch.where(surplus > 0, factor * surplus, surplus)


def codomain_of(acq_function: AcquisitionFunction) -> Codomain:
    """How a weight combines with an acquisition, by its class."""
    if acq_function._log:
        return "log"
    return "nonnegative" if isinstance(acq_function, NONNEGATIVE) else "real"


def _default_settings(model: Model) -> CreditSettings:
    """BoTorch searches by gradient, which the jumps of a kNN field cut short."""
    return replace(at_every_turn(DEFAULT.credit), field="knn" if kernel_of(model) is None else "smooth")


def _checked_model(acq_function: Any, model: Any) -> Model:
    name = type(acq_function).__name__
    model = model if model is not None else getattr(acq_function, "model", None)
    if not isinstance(acq_function, AcquisitionFunction) or not isinstance(model, Model):
        raise SettingError(f"acq_function must be a BoTorch AcquisitionFunction with a model, got {name}.")
    if isinstance(acq_function, OneShotAcquisitionFunction):
        raise UnsupportedError(f"one-shot acquisitions are out of scope, got acq_function of type {name}.")
    return model


def _checked_bounds(bounds: Any, d: int) -> Tensor:
    if not isinstance(bounds, Tensor) or bounds.shape != (2, d) or not bool((bounds[0] < bounds[1]).all()):
        raise SettingError(f"bounds must be a 2 x {d} tensor of lower and upper limits, got {bounds!r}.")
    return bounds


def _check_candidates(candidates: Any, d: int) -> None:
    given = tuple(candidates.shape) if isinstance(candidates, Tensor) else candidates
    if given is not None and not (isinstance(candidates, Tensor) and len(given) == 2 and given[1] == d):
        raise SettingError(f"candidates must be None or a tensor of m x {d}, got {given!r}.")


acqf_input_constructor(CreditWeightedAcquisitionFunction)(construct_inputs_credit_weighted)
