"""A BoTorch loop with counterfactual credit: log expected improvement on a 6-dimensional test function.

Run: pip install 'ccgbo[botorch]' && python examples/botorch_credit.py
"""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood

from ccgbo.integrations.botorch import CreditWeightedAcquisitionFunction


def main(iterations=20, n_initial=12):
    problem = Hartmann(dim=6, negate=True, dtype=torch.double)
    bounds = problem.bounds
    X = torch.rand(n_initial, 6, dtype=torch.double)
    Y = problem(X).unsqueeze(-1)
    for t in range(iterations):
        model = SingleTaskGP(X, Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        base = LogExpectedImprovement(model, best_f=Y.max())
        acqf = CreditWeightedAcquisitionFunction(base, bounds, t=t)
        x, _ = optimize_acqf(acqf, bounds, q=1, num_restarts=4, raw_samples=128)
        X, Y = torch.cat([X, x]), torch.cat([Y, problem(x).unsqueeze(-1)])
    print(f"best value {Y.max():.4f} after {len(Y)} evaluations (the optimum is {problem.optimal_value:.4f})")
    order = acqf.credit.argsort(descending=True)[:3]
    print("most credited observations:", [(int(i), round(float(Y[i]), 3)) for i in order])
    return float(Y.max())


if __name__ == "__main__":
    main()
